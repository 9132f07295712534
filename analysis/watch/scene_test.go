package watch

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tensortap/tensortap/analysis/compare"
	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/analysis/rows/store"
	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/schemas"
)

// TestMain lets the test binary be its own engine, as the real binary is.
func TestMain(m *testing.M) {
	testbed.ServeEngine()
	os.Exit(m.Run())
}

// scene is two runs that a test lets grow, and a watch that looks when the test says so.
type scene struct {
	t              *testing.T
	d              *testbed.Database
	name           string
	problem, bench *grown
	w              *watch
	now            time.Time
	said           []string
}

func newScene(t *testing.T, d *testbed.Database, name string) *scene {
	t.Helper()
	s := watching(t, d, name)
	s.problem, s.bench = newGrown(t, d, name+" problem"), newGrown(t, d, name+" bench")
	return s
}

// watching is a scene whose runs are not there yet.
func watching(t *testing.T, d *testbed.Database, name string) *scene {
	t.Helper()
	s := &scene{t: t, d: d, name: name, now: time.Unix(1000, 0)}
	r := DefaultRequest()
	r.Compare.Problem, r.Compare.Benches = name+" problem", []string{name + " bench"}
	r.Compare.ChooseMap, r.Compare.Merge = true, true
	r.Now = func() time.Time { return s.now }
	r.Say = func(e *report.WatchEvent) error { s.said = append(s.said, brief(e)); return nil }
	r.Connect = func(context.Context) (*Database, error) {
		no := func(context.Context) (bool, error) { return false, nil }
		return &Database{
			Source: store.Open(d.Conn), Close: func() {}, Living: no, Gaps: func(context.Context) ([]string, error) { return nil, nil },
			Stored:  func(context.Context) (bool, error) { return true, nil },
			Nearest: func(context.Context, string) ([]string, error) { return nil, nil },
			Refine:  func(context.Context, *compare.Request) error { return nil },
		}, nil
	}
	if err := r.Validate(); err != nil {
		t.Fatal(err)
	}
	s.w = newWatch(r)
	return s
}

// advance looks after some time, and keeps the events.
func (s *scene) advance(after time.Duration) {
	s.t.Helper()
	s.now, s.said = s.now.Add(after), nil
	ended, err := s.w.look(s.t.Context())
	if err != nil {
		s.t.Fatalf("%s: %v", s.name, err)
	}
	if ended {
		s.said = append(s.said, brief(s.w.end()))
	}
}

// look looks after some time, and wants these events alone.
func (s *scene) look(after time.Duration, want ...string) {
	s.t.Helper()
	s.advance(after)
	if !slices.Equal(s.said, want) {
		s.t.Errorf("%s: a look %v later said\n  %s\nwant\n  %s", s.name, after, strings.Join(s.said, "\n  "), strings.Join(want, "\n  "))
	}
}

// brief is an event in few words.
func brief(e *report.WatchEvent) string {
	switch e.Event {
	case "step":
		return fmt.Sprintf("step %d %s: %d paired, %d + %d alone, %d differ %s", *e.Step, e.State, e.Paired, e.OnlyProblem, e.OnlyBench, e.Differing, strings.Join(e.Incomplete, "; "))
	case "divergence":
		return fmt.Sprintf("%s at step %d rank %d %s within %t", e.Verdict, *e.Step, *e.Rank, e.Op, e.WithinStep)
	}
	if e.LeftOut != nil {
		return fmt.Sprintf("%s %s, left out %d and %d", e.Event, e.State, e.LeftOut.Problem, e.LeftOut.Bench)
	}
	return e.Event + " " + e.For + e.State
}

// grown is a run that a test lets grow, of one rank.
type grown struct {
	t          *testing.T
	d          *testbed.Database
	name       string
	rank       uint32
	epoch      uint64
	generation uint32
	batches    map[string]uint64
}

func newGrown(t *testing.T, d *testbed.Database, name string) *grown {
	t.Helper()
	g := &grown{t: t, d: d, name: name, epoch: 1, batches: map[string]uint64{}}
	write(g, &schemas.RunRow{RunID: schemas.RunID(name), Name: name, Source: "test", EventTimeSource: "rank", FirstEventTimeNs: 1})
	write(g, &schemas.RankRow{RunID: schemas.RunID(name), Epoch: 1, TP: -1, PP: -1, DP: -1, CP: -1, EP: -1})
	return g
}

// write stores rows as one batch.
func write[R any, P schemas.Row[R]](g *grown, rows ...P) {
	g.t.Helper()
	kind := P(new(R)).Table().Kind()
	b := schemas.NewBuilder[R, P]()
	for _, row := range rows {
		b.Append((*R)(row))
	}
	message, err := b.Message(schemas.Identity{RunID: schemas.RunID(g.name), Rank: g.rank, Epoch: g.epoch, Batch: g.batches[kind]})
	if err != nil {
		g.t.Fatal(err)
	}
	g.batches[kind]++
	g.d.Write(g.t, []schemas.Message{message})
}

// output is an output of an op, in the order of the rank.
type output struct {
	seq   uint64
	op    string
	value float64
}

// outputs are the outputs of ops, with these values.
func outputs(ops string, values ...float64) []output {
	list := make([]output, len(values))
	for i, op := range strings.Fields(ops) {
		list[i] = output{uint64(i), "Functional." + op + ".forward", values[i]}
	}
	return list
}

// gave stores outputs of ops, and their definitions.
func (g *grown) gave(step uint32, list ...output) {
	g.t.Helper()
	layout := &schemas.LayoutRow{Kind: "tensor", Dtype: "torch.float32", Shape: []int64{8, 8}}
	layout.LayoutID = schemas.LayoutID(layout)
	write(g, layout)
	var tensors []*schemas.TensorRow
	for _, o := range list {
		site := schemas.SiteID(schemas.OpID(o.op), "output", "0")
		op := schemas.ParseOpName(o.op)
		write(g, &op)
		write(g, &schemas.SiteRow{SiteID: site, OpID: schemas.OpID(o.op), Role: "output", Path: "0"})
		tensors = append(tensors, &schemas.TensorRow{
			RunID: schemas.RunID(g.name), Epoch: g.epoch, Batch: g.batches["tensor"], Step: step, Seq: o.seq, SiteID: site, LayoutID: layout.LayoutID,
			ElementCount: 64, Measured: schemas.MeasuredMin | schemas.MeasuredMax | schemas.MeasuredMean | schemas.MeasuredL2,
			ValueMin: -o.value, ValueMax: o.value, ValueL2: 4 * o.value,
		})
	}
	write(g, tensors...)
}

// end ends a step of these ops with one tensor each.
func (g *grown) end(step uint32, list ...output) {
	g.t.Helper()
	var hasher schemas.ProgramHasher
	for _, o := range list {
		hasher.Add(schemas.OpID(o.op), 0)
	}
	for i, o := range list {
		write(g, &schemas.ProgramRow{ProgramID: hasher.ID(), Position: uint32(i), OpID: schemas.OpID(o.op)})
	}
	write(g, &schemas.StepRow{
		RunID: schemas.RunID(g.name), Epoch: g.epoch, Batch: g.batches["step"], Step: step, Generation: g.generation, EventTimeNs: int64(g.epoch),
		ProgramID: hasher.ID(), OpCount: uint64(len(list)), TensorCount: uint64(len(list)), Complete: 1,
	})
}

func (g *grown) whole(step uint32, list ...output) {
	g.t.Helper()
	g.gave(step, list...)
	g.end(step, list...)
}

// leftOut tells in a step how many were left out before it to keep a budget.
func (g *grown) leftOut(step uint32, count uint64) {
	g.t.Helper()
	write(g, &schemas.UnseenRow{RunID: schemas.RunID(g.name), Epoch: g.epoch, Batch: g.batches["unseen"], Step: step, Reason: rows.BeyondTheBudget, UnseenCount: count})
}

// restart is another start of the rank, which writes steps of a greater generation.
func (g *grown) restart() {
	g.epoch++
	g.generation++
	g.batches = map[string]uint64{}
}

func stepRow(at rows.Place) schemas.StepRow { return schemas.StepRow{Rank: at.Rank, Step: at.Step} }
