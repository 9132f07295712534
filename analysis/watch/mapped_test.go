package watch

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tensortap/tensortap/analysis/compare"
	"github.com/tensortap/tensortap/analysis/mapping"
	"github.com/tensortap/tensortap/analysis/mapping/families"
	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/analysis/rows/store"
	"github.com/tensortap/tensortap/internal/dev/crossed"
	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/schemas"
)

// copied is a recorded run that a test stores again, under another name and bit by bit.
type copied struct {
	of    *crossed.Runs
	run   *rows.Run
	ranks []*grown
}

func readCrossed(t *testing.T, names ...string) *crossed.Runs {
	t.Helper()
	runs, err := crossed.Read("../mapping/families/testdata/cross", names...)
	if err != nil {
		t.Fatal(err)
	}
	return runs
}

// begun describes such a run.
func (s *scene) begun(side string, of *crossed.Runs, name, engine string) *copied {
	s.t.Helper()
	c := &copied{of: of, run: of.ByName[name]}
	for _, rank := range c.run.Ranks {
		g := &grown{t: s.t, d: s.d, name: s.name + " " + side, rank: rank.Rank, epoch: 1, batches: map[string]uint64{}}
		rank.RunID, rank.Epoch = schemas.RunID(g.name), 1
		write(g, &rank)
		c.ranks = append(c.ranks, g)
	}
	first := c.ranks[0]
	write(first, &schemas.RunRow{
		RunID: schemas.RunID(first.name), Name: first.name, Source: schemas.SourceCollector, Level: "L0", Engine: engine, EventTimeSource: "rank", FirstEventTimeNs: 1,
	})
	return c
}

// gave stores some tensors of a step of a rank: a part from one share of them to another, in tenths.
func (c *copied) gave(rank int, step uint32, from, to int) {
	g := c.ranks[rank]
	all := c.of.Stored[c.run.Name][rows.Place{Rank: g.rank, Step: step}]
	var some []*schemas.TensorRow
	for i := from * all.Len() / 10; i < to*all.Len()/10; i++ {
		o := all.At(i)
		row := crossed.Row(&o)
		row.RunID, row.Rank, row.Epoch, row.Batch, row.Step = schemas.RunID(g.name), g.rank, g.epoch, g.batches["tensor"], step
		some = append(some, row)
	}
	write(g, some...)
}

// end ends a step of a rank.
func (c *copied) end(rank int, step uint32) {
	g := c.ranks[rank]
	row := *c.run.StepAt(rows.Place{Rank: g.rank, Step: step})
	row.RunID, row.Epoch, row.Batch, row.Generation, row.EventTimeNs = schemas.RunID(g.name), g.epoch, g.batches["step"], g.generation, int64(g.epoch) //nolint:gosec // few
	write(g, &row)
}

// whole stores steps of all ranks, and ends them.
func (c *copied) whole(steps ...uint32) {
	for _, step := range steps {
		for rank := range c.ranks {
			c.gave(rank, step, 0, 10)
			c.end(rank, step)
		}
	}
}

// define stores the definitions of all runs that were read, but for half of each program.
func (c *copied) define() {
	g, known := c.ranks[0], c.of.Known
	write(g, slices.Collect(maps.Values(known.Ops))...)
	write(g, slices.Collect(maps.Values(known.Layouts))...)
	var sites []*schemas.SiteRow
	for _, site := range known.Sites {
		sites = append(sites, &site)
	}
	write(g, sites...)
	c.definePrograms(0)
}

// definePrograms stores each second line of programs, from that one on.
func (c *copied) definePrograms(first int) {
	for _, program := range c.of.Known.Programs {
		var some []*schemas.ProgramRow
		for i := first; i < len(program); i += 2 {
			some = append(some, &program[i])
		}
		write(c.ranks[0], some...)
	}
}

// restart is another start of all ranks.
func (c *copied) restart() {
	for _, g := range c.ranks {
		g.restart()
	}
}

// saw looks after some time, and gives the events but for the counts of steps.
func (s *scene) saw(after time.Duration) []string {
	s.t.Helper()
	s.advance(after)
	for i, said := range s.said {
		s.said[i], _, _ = strings.Cut(said, ":")
	}
	return s.said
}

// sees looks, and wants these events alone.
func (s *scene) sees(after time.Duration, want ...string) {
	s.t.Helper()
	if got := s.saw(after); !slices.Equal(got, want) {
		s.t.Errorf("%s: a look %v later said %q, want %q", s.name, after, got, want)
	}
}

// compared is what a comparison of the runs says when all is there: its verdict, and where it began.
func (s *scene) compared() (report.Verdict, string) {
	s.t.Helper()
	request := s.w.r.Compare
	answer, err := compare.Run(s.t.Context(), store.Open(s.d.Conn), request)
	if err != nil {
		s.t.Fatal(err)
	}
	said := report.Comparison{Problem: request.Problem, Benches: request.Benches, Stored: true}
	answer.Fill(&said)
	if len(answer.Origins) == 0 {
		return said.Judge(), ""
	}
	return said.Judge(), answer.Origins[0].Op
}

// endsAsCompared looks until the watch has ended, and wants the end that a comparison gives.
func (s *scene) endsAsCompared() {
	s.t.Helper()
	verdict, _ := s.compared()
	s.sees(idle, "end "+string(verdict))
}

const (
	underLlama = "mapped llama"
	joined     = "Module.model.layers.1.mlp.gate_up_proj.MergedColumnParallelLinear.forward.0"
)

// TestTwoImplementationsAreWatchedUnderTheMapThatShips: the definitions of all plays come in the first one, last of all.
func TestTwoImplementationsAreWatchedUnderTheMapThatShips(t *testing.T) {
	t.Parallel()
	d := testbed.StartDatabase(t)
	runs := readCrossed(t, "hf", "vl", "vlbad")
	for _, play := range []struct {
		name, problem string
		of            func(s *scene, problem, bench *copied)
	}{
		{"definitions come last", "vl", func(s *scene, problem, bench *copied) {
			bench.whole(0, 1, 2, 3)
			problem.whole(0, 1, 2, 3)
			s.sees(soon)
			s.sees(rest)
			problem.define()
			s.sees(rest)
			problem.definePrograms(1)
			s.sees(rest, underLlama, "step 0 agree", "step 1 agree", "step 2 agree", "step 3 agree")
			s.endsAsCompared()
		}},
		{"bit by bit, beside a bench that is whole", "vl", func(s *scene, problem, bench *copied) {
			bench.whole(0, 1, 2, 3)
			for step := range uint32(4) {
				for part := range 5 {
					problem.gave(0, step, 2*part, 2*part+2)
					s.sees(soon)
				}
				problem.end(0, step)
				s.sees(soon)
				if said := s.saw(rest); said[len(said)-1] != fmt.Sprintf("step %d agree", step) {
					t.Errorf("step %d said %q", step, said)
				}
			}
			s.endsAsCompared()
		}},
		{"a weight that is scaled", "vlbad", func(s *scene, problem, bench *copied) {
			problem.gave(0, 0, 0, 10)
			bench.gave(0, 0, 0, 10)
			s.sees(rest)
			problem.end(0, 0)
			bench.end(0, 0)
			s.sees(soon)
			s.sees(rest, underLlama, "diverged at step 0 rank 0 "+joined+" within false", "step 0 differs")
			if _, op := s.compared(); op != joined {
				t.Errorf("a comparison blames %s", op)
			}
			s.endsAsCompared()
		}},
		{"steps and rows out of order", "vl", func(s *scene, problem, bench *copied) {
			bench.whole(2, 0)
			problem.end(0, 2)
			problem.gave(0, 2, 5, 10)
			problem.gave(0, 0, 5, 10)
			s.sees(rest)
			problem.gave(0, 0, 0, 5)
			problem.gave(0, 2, 0, 5)
			problem.end(0, 0)
			s.sees(soon)
			s.sees(rest, underLlama, "step 0 agree", "step 2 agree")
			s.endsAsCompared()
		}},
		{"a rank that is started again", "vlbad", func(s *scene, problem, bench *copied) {
			bench.whole(0)
			problem.gave(0, 0, 0, 8)
			s.sees(rest)
			problem.restart()
			problem.run = runs.ByName["vl"]
			problem.whole(0)
			s.sees(soon)
			s.sees(rest, underLlama, "step 0 agree")
			s.endsAsCompared()
		}},
		{"a step that is replaced", "vl", func(s *scene, problem, bench *copied) {
			bench.whole(0)
			problem.whole(0)
			s.sees(soon)
			s.sees(rest, underLlama, "step 0 agree")
			problem.restart()
			problem.run = runs.ByName["vlbad"]
			problem.whole(0)
			s.sees(soon)
			s.sees(rest, "diverged at step 0 rank 0 "+joined+" within false", "step 0 differs")
			s.endsAsCompared()
		}},
	} {
		s := watching(t, d, play.name)
		play.of(s, s.begun("problem", runs, play.problem, "vllm"), s.begun("bench", runs, "hf", ""))
	}
}

// TestRanksAreMergedAndSumsAddedUpWhileTheyRun: SGLang on two ranks leaves sums open, beside one rank of Transformers and two of vLLM.
func TestRanksAreMergedAndSumsAddedUpWhileTheyRun(t *testing.T) {
	t.Parallel()
	d := testbed.StartDatabase(t)
	runs := readCrossed(t, "qwen3-hf", "qwen3-sglang", "qwen3-vllm")
	for bench, engine := range map[string]string{"qwen3-hf": "", "qwen3-vllm": "vllm"} {
		s := watching(t, d, bench)
		problem, other := s.begun("problem", runs, "qwen3-sglang", "sglang"), s.begun("bench", runs, bench, engine)
		problem.define()
		problem.definePrograms(1)
		other.whole(0, 1)
		problem.gave(1, 0, 0, 10)
		problem.end(1, 0)
		s.sees(rest)
		problem.gave(0, 0, 0, 10)
		problem.end(0, 0)
		s.sees(soon)
		s.sees(rest, "mapped qwen3", "step 0 agree")
		problem.whole(1)
		s.sees(soon)
		s.sees(rest, "step 1 agree")
		s.endsAsCompared()
	}
}

func TestAMapMayBeGiven(t *testing.T) {
	t.Parallel()
	d := testbed.StartDatabase(t)
	runs := readCrossed(t, "hf", "vl")
	shipped, err := families.Written("llama", families.VLLM, families.Transformers)
	if err != nil {
		t.Fatal(err)
	}
	given, err := mapping.Parse("given.yaml", []byte(strings.Replace(shipped, "name: 'llama: ", "name: 'mine: ", 1)))
	if err != nil {
		t.Fatal(err)
	}
	for name, said := range map[string][]string{"given": {"mapped mine", "step 0 agree"}, mapping.None: nil} {
		s := watching(t, d, name)
		s.w.r.Compare.ChooseMap = false
		if name == "given" {
			s.w.r.Compare.Map = given
		}
		problem, bench := s.begun("problem", runs, "vl", "vllm"), s.begun("bench", runs, "hf", "")
		problem.define()
		problem.definePrograms(1)
		problem.whole(0)
		bench.whole(0)
		s.saw(soon)
		if got := s.saw(rest); said != nil && !slices.Equal(got, said) || said == nil && strings.Contains(strings.Join(got, " "), "mapped") {
			t.Errorf("%s: said %q, want %q", name, got, said)
		}
		s.endsAsCompared()
	}
}
