package result_test

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/analysis/internal/cases"
	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/origin"
	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/result"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// comparison is a case of the database's, judged in Go.
type comparison struct {
	*cases.Runs
	rules     *judge.Rules
	steps     []pair.Step
	lossy     map[uint64]map[uint32]bool // ranks of each run that lost something
	alignment []schemas.AlignmentRow
	payloads  []schemas.PayloadErrorRow
}

func compare(t *testing.T, c *cases.Case) *comparison {
	t.Helper()
	k := &comparison{Runs: cases.RunsOf(t, c), alignment: cases.RowsOf[schemas.AlignmentRow](t, c), payloads: cases.RowsOf[schemas.PayloadErrorRow](t, c)}
	for _, op := range k.Definitions.Ops {
		op.Name = strings.NewReplacer(`\\`, `\`, `\t`, "\t").Replace(op.Name) // cases are written as the database escapes them
	}
	k.lossy = map[uint64]map[uint32]bool{k.Problem.ID: {}, k.Bench.ID: {}}
	for _, step := range cases.RowsOf[schemas.StepRow](t, c) {
		if step.DroppedCount > 0 && k.lossy[step.RunID] != nil {
			k.lossy[step.RunID][step.Rank] = true
		}
	}
	k.steps = pair.PairSteps(k.Problem, k.Bench, pair.PairRanks(k.Problem, k.Bench), 0)
	k.Problem.MainDtype, k.Bench.MainDtype = k.mainDtype(k.Problem), k.mainDtype(k.Bench)
	config := judge.DefaultConfig()
	if given, ok := c.Parameters["tolerance"]; ok {
		config.Tolerance, _ = strconv.ParseFloat(given, 64)
	}
	for _, r := range cases.RowsOf[schemas.KnownExceptionRow](t, c) {
		config.Exceptions = append(config.Exceptions, judge.Exception{API: r.API, Role: r.Role, Path: r.Path, Sort: r.Sort, Why: r.Why})
	}
	var err error
	if k.rules, err = judge.New(config, k.Problem, k.Bench, k.Definitions); err != nil {
		t.Fatal(err)
	}
	return k
}

func (k *comparison) mainDtype(run *rows.Run) (most string) {
	counts := map[string]int{}
	float := regexp.MustCompile(`(?i)float|half|double`)
	for _, s := range run.Steps {
		tensors := k.Tensors(run, s.Rank, s.Step)
		for i := range tensors.Len() {
			if l := k.Definitions.Layouts[tensors.At(i).LayoutID]; l != nil && l.Kind == "tensor" && float.MatchString(l.Dtype) {
				counts[l.Dtype]++
			}
		}
	}
	for dtype, n := range counts {
		if n > counts[most] || n == counts[most] && dtype > most {
			most = dtype
		}
	}
	return most
}

// judged are the verdicts of a place.
func (k *comparison) judged(at pair.Step) []judge.Judged {
	problem, bench := k.Tensors(k.Problem, at.Rank, at.Step), k.Tensors(k.Bench, at.BenchRank, at.BenchStep)
	if !at.InProblem {
		problem = nil
	}
	if !at.InBench {
		bench = nil
	}
	setting := judge.Setting{
		ProblemIncomplete: k.lossy[k.Problem.ID][at.Rank], BenchIncomplete: k.lossy[k.Bench.ID][at.BenchRank],
		CommonStep: at.InProblem && at.InBench && at.ProblemProgram != 0 && at.BenchProgram != 0,
	}
	var list []judge.Judged
	for _, m := range pair.Build(problem, bench, k.moved(at, bench)).Matches(problem, bench) {
		p := judge.Pair{Rank: at.Rank, BenchRank: at.BenchRank, Step: at.Step, BenchStep: at.BenchStep, InProblem: m.Problem >= 0, InBench: m.Bench >= 0}
		if p.InProblem {
			p.Problem = problem.At(int(m.Problem))
		}
		if p.InBench {
			p.Bench = bench.At(int(m.Bench))
		}
		list = append(list, judge.Judged{Pair: p, Verdict: k.rules.Judge(&p, setting, k.payload(&p))})
	}
	return list
}

// moved is as pair.Alignment has it, by the rows that the case gives.
func (k *comparison) moved(at pair.Step, bench *rows.Tensors) map[uint64]uint64 {
	moved := map[uint64]uint64{}
	if at.ProblemProgram == at.BenchProgram {
		return moved
	}
	for i := range bench.Len() {
		site := k.Definitions.Sites[bench.SiteID[i]]
		for _, r := range k.aligned(at.ProblemProgram, at.BenchProgram) {
			if r.BenchOpID == site.OpID && r.ProblemOpID != r.BenchOpID {
				moved[site.SiteID] = pair.Nobody
				if r.ProblemOpID != 0 {
					moved[site.SiteID] = schemas.SiteID(r.ProblemOpID, site.Role, site.Path)
				}
			}
		}
	}
	return moved
}

func (k *comparison) aligned(problem, bench uint64) []schemas.AlignmentRow {
	return slices.DeleteFunc(slices.Clone(k.alignment), func(r schemas.AlignmentRow) bool {
		return r.ProblemProgramID != problem || r.BenchProgramID != bench
	})
}

func (k *comparison) payload(p *judge.Pair) *judge.Payload {
	for _, r := range k.payloads {
		if r.Rank == p.Rank && r.Step == p.Step && r.ProblemSiteID == p.Problem.SiteID && r.BenchSiteID == p.Bench.SiteID && r.RelativeL2 != nil {
			return &judge.Payload{SameBits: r.SameBits != 0, Error: *r.RelativeL2}
		}
	}
	return nil
}

// finish collects all places, from the last to the first: their order must not matter.
func (k *comparison) finish(t *testing.T, c *cases.Case) result.Result {
	t.Helper()
	options := result.DefaultOptions()
	options.Limit, options.Texts = int(c.Integer(t, "limit", 20)), c.Integer(t, "texts", 1) == 1
	options.Excused = func(site uint64) bool { return len(k.rules.Excused(site)) > 0 }
	collected := result.New(options, k.Problem, k.Bench, k.Definitions)
	for _, at := range slices.Backward(k.steps) {
		collected.Place(at, k.judged(at))
	}
	with := result.Finishing{Alignment: k.aligned}
	if step, wanted := collected.OriginStep(); wanted {
		room := origin.NewRoom(k.Problem, k.Definitions)
		for _, at := range k.steps {
			if at.Step == step && at.InProblem {
				room.Add(at.Rank, k.Tensors(k.Problem, at.Rank, at.Step))
			}
		}
		with.Meetings = room.Meetings()
	}
	return collected.Finish(with)
}
