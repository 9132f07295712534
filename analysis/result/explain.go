package result

import (
	"cmp"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tensortap/tensortap/analysis/internal/column"
	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// Explained is one tensor, or other argument, that an op or its partner took or gave.
type Explained struct {
	judge.Judged
	Op, BenchOp                string // empty where that run does not have it
	PairedBy                   string // reason of the alignment; else id, only_problem, only_bench or other
	Role, Path                 string
	ProblemLayout, BenchLayout *schemas.LayoutRow // never nil
}

// ExplainOp gives the arguments of one op, by its full name, in both runs at a place: inputs first, then parameters,
// then outputs. An op that only the bench has goes by the bench's name. The alignment is that of the programs of the
// place.
func ExplainOp(op string, judged []judge.Judged, alignment []schemas.AlignmentRow, definitions *rows.Definitions) []Explained {
	n := &names{definitions: definitions}
	chosen := n.choose(schemas.OpID(op), judged)
	pairedBy := chosen.pairedBy(alignment)
	explained := make([]Explained, 0, len(chosen.rows))
	for _, j := range chosen.rows {
		site := n.site(j.Own().SiteID)
		explained = append(explained, Explained{
			Judged: *j, Op: n.op(chosen.problem).Name, BenchOp: n.op(chosen.bench).Name, PairedBy: pairedBy, Role: site.Role, Path: site.Path,
			ProblemLayout: n.layout(j.Problem.LayoutID), BenchLayout: n.layout(j.Bench.LayoutID),
		})
	}
	slices.SortStableFunc(explained, compareExplained)
	return explained
}

// chosenOp is an op of the problem, its partner in the bench, and the pairs of both.
type chosenOp struct {
	problem, bench uint64 // 0 where that run does not have it
	rows           []*judge.Judged
}

// choose finds the pairs of an op. An op of the bench with the same name may be another one's partner: the op that this
// one was paired with is shown.
func (n *names) choose(wanted uint64, judged []judge.Judged) chosenOp {
	chosen := chosenOp{bench: wanted}
	for i := range judged {
		problem, bench := n.opsOf(&judged[i])
		if problem != wanted {
			continue
		}
		if chosen.problem == 0 {
			chosen.problem, chosen.bench = wanted, 0
		}
		chosen.bench = max(chosen.bench, bench)
	}
	for i := range judged {
		problem, bench := n.opsOf(&judged[i])
		if problem == wanted || chosen.bench != 0 && bench == chosen.bench && (chosen.problem == 0 || !judged[i].InProblem) {
			chosen.rows = append(chosen.rows, &judged[i])
		}
	}
	return chosen
}

// opsOf are the ops of a pair; 0 where it stands alone.
func (n *names) opsOf(j *judge.Judged) (problem, bench uint64) {
	if j.InProblem {
		problem = n.site(j.Problem.SiteID).OpID
	}
	if j.InBench {
		bench = n.site(j.Bench.SiteID).OpID
	}
	return problem, bench
}

func (c *chosenOp) pairedBy(alignment []schemas.AlignmentRow) string {
	for i := range alignment {
		if alignment[i].ProblemOpID == c.problem && alignment[i].BenchOpID == c.bench {
			return alignment[i].Reason
		}
	}
	switch {
	case c.problem == 0:
		return "only_bench"
	case c.bench == 0:
		return "only_problem"
	case c.problem == c.bench:
		return "id"
	}
	return "other"
}

func compareExplained(a, b Explained) int {
	x, y := a.Own(), b.Own()
	return cmp.Or(cmp.Compare(x.MicroStep, y.MicroStep), compareTruth(a.Role == "output", b.Role == "output"),
		compareTruth(!a.InProblem, !b.InProblem), cmp.Compare(x.Seq, y.Seq), cmp.Compare(a.Role, b.Role), cmp.Compare(a.Path, b.Path))
}

// compareTruth puts false first.
func compareTruth(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// ExplainTable is the arguments of an op at a place as Arrow columns.
func ExplainTable(at pair.Step, explained []Explained) arrow.RecordBatch {
	return column.Record(explainColumns(at), explained)
}

func explainColumns(at pair.Step) []column.Of[Explained] {
	ofVerdict := func(columns []column.Of[judge.Judged]) []column.Of[Explained] {
		return column.Lift(func(e *Explained) *judge.Judged { return &e.Judged }, columns)
	}
	return slices.Concat([]column.Of[Explained]{
		column.PlainInt64s("rank", func(*Explained) int64 { return int64(at.Rank) }),
		column.Uint32s("bench_rank", func(e *Explained) uint32 { return e.BenchRank }),
		column.PlainInt64s("step", func(*Explained) int64 { return int64(at.Step) }),
		column.Uint16s("micro_step", func(e *Explained) uint16 { return e.Own().MicroStep }),
		column.Text("op", func(e *Explained) string { return e.Op }),
		column.Text("bench_op", func(e *Explained) string { return e.BenchOp }),
		column.Text("paired_by", func(e *Explained) string { return e.PairedBy }),
		column.Text("role", func(e *Explained) string { return e.Role }),
		column.Text("path", func(e *Explained) string { return e.Path }),
	}, ofVerdict(judgedColumns()), []column.Of[Explained]{
		column.Text("problem_kind", func(e *Explained) string { return e.ProblemLayout.Kind }),
		column.Text("bench_kind", func(e *Explained) string { return e.BenchLayout.Kind }),
		column.Text("problem_dtype", func(e *Explained) string { return e.ProblemLayout.Dtype }),
		column.Text("bench_dtype", func(e *Explained) string { return e.BenchLayout.Dtype }),
		column.Sizes("problem_shape", func(e *Explained) []int64 { return e.ProblemLayout.Shape }),
		column.Sizes("bench_shape", func(e *Explained) []int64 { return e.BenchLayout.Shape }),
		column.Text("problem_literal", func(e *Explained) string { return e.ProblemLayout.Literal }),
		column.Text("bench_literal", func(e *Explained) string { return e.BenchLayout.Literal }),
		column.Flags("problem_requires_grad", func(e *Explained) *uint8 { return e.ProblemLayout.RequiresGrad }),
		column.Flags("bench_requires_grad", func(e *Explained) *uint8 { return e.BenchLayout.RequiresGrad }),
		column.Uint64s("problem_element_count", func(e *Explained) uint64 { return e.Problem.ElementCount }),
		column.Uint64s("bench_element_count", func(e *Explained) uint64 { return e.Bench.ElementCount }),
	}, ofVerdict(statisticColumns()), []column.Of[Explained]{
		column.Uint64s("problem_not_finite_count", func(e *Explained) uint64 { return e.Problem.NotFinite() }),
		column.Uint64s("bench_not_finite_count", func(e *Explained) uint64 { return e.Bench.NotFinite() }),
	})
}

// judgedColumns are all that was found out about a pair.
func judgedColumns() []column.Of[judge.Judged] {
	return []column.Of[judge.Judged]{
		column.Text("verdict", func(j *judge.Judged) string { return j.Class.String() }),
		column.Text("numeric", func(j *judge.Judged) string { return j.Numeric.String() }),
		column.Text("evidence", func(j *judge.Judged) string { return j.Evidence.String() }),
		column.Floats("error", func(j *judge.Judged) (float64, bool) { return known(j.Error) }),
		column.Floats("error_low", func(j *judge.Judged) (float64, bool) { return known(j.ErrorLow) }),
		column.Floats("error_high", func(j *judge.Judged) (float64, bool) { return known(j.ErrorHigh) }),
		column.Floats("tolerance", func(j *judge.Judged) (float64, bool) { return known(j.Tolerance) }),
		column.Truths("differs", func(j *judge.Judged) bool { return j.Differs }),
		column.Bools("structure", func(j *judge.Judged) bool { return j.Structure }),
		column.Text("side", func(j *judge.Judged) string { return j.Side.String() }),
		column.Text("reason", func(j *judge.Judged) string { return j.Reason }),
		column.Bools("problem_present", func(j *judge.Judged) bool { return j.InProblem }),
		column.Bools("bench_present", func(j *judge.Judged) bool { return j.InBench }),
	}
}
