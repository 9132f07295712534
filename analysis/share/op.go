package share

import (
	"math"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tensortap/tensortap/analysis/compare"
	"github.com/tensortap/tensortap/analysis/internal/column"
	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/rows"
)

// op is an op of a place with the pairs of its tensors and other arguments.
type op struct {
	compare.SequenceOp
	pairs     []judge.Judged
	verdict   string // the worst of its pairs, as in the report sequence
	differing uint64
	greatest  *judge.Judged // pair of the greatest error, of those that are kept, as in that report; nil where none is known
	dtypes    []string      // of the problem's tensors
	seq       uint64        // of the problem's first pair; the greatest number where there is none
	parent    *uint32       // position of what called it; nil where that is not known
}

func opsOf(sequence []compare.SequenceOp) []op {
	ops := make([]op, len(sequence))
	for i := range sequence {
		ops[i] = op{SequenceOp: sequence[i], seq: math.MaxUint64}
	}
	return ops
}

// assign gives each op its pairs, and counts those that differ.
func assign(ops []op, judged []judge.Judged, definitions *rows.Definitions) (differing uint64) {
	problem, bench := byID(ops)
	for i := range judged {
		j := &judged[i]
		at, known := bench[definitions.Sites[j.Bench.SiteID].OpID]
		if j.InProblem {
			at, known = problem[definitions.Sites[j.Problem.SiteID].OpID]
		}
		if known {
			ops[at].pairs = append(ops[at].pairs, *j)
		}
	}
	for i := range ops {
		ops[i].judge(definitions)
		differing += ops[i].differing
		places := bench
		if ops[i].ProblemOpID != 0 {
			places = problem
		}
		if at, known := places[ops[i].ParentOpID]; known {
			ops[i].parent = &ops[at].Position
		}
	}
	return differing
}

// byID are the indices of the ops of both runs.
func byID(ops []op) (problem, bench map[uint64]int) {
	problem, bench = make(map[uint64]int, len(ops)), make(map[uint64]int, len(ops))
	for i := range ops {
		if ops[i].ProblemOpID != 0 {
			problem[ops[i].ProblemOpID] = i
		}
		if ops[i].BenchOpID != 0 {
			bench[ops[i].BenchOpID] = i
		}
	}
	return problem, bench
}

// judge finds what came of the op.
func (o *op) judge(definitions *rows.Definitions) {
	for i := range o.pairs {
		o.count(&o.pairs[i], definitions)
	}
	slices.Sort(o.dtypes)
	o.dtypes = slices.Compact(o.dtypes)
	switch {
	case o.ProblemOpID == 0:
		o.verdict = "only_bench"
	case o.BenchOpID == 0:
		o.verdict = "only_problem"
	default:
		o.verdict = worst(o.pairs)
	}
}

func (o *op) count(j *judge.Judged, definitions *rows.Definitions) {
	if j.Differs {
		o.differing++
	}
	if j.IsKept() && !math.IsNaN(j.Error) && (o.greatest == nil || finite(j.Error) > finite(o.greatest.Error)) {
		o.greatest = j
	}
	if !j.InProblem {
		return
	}
	o.seq = min(o.seq, j.Problem.Seq)
	if dtype := definitions.LayoutOrZero(j.Problem.LayoutID).Dtype; dtype != "" {
		o.dtypes = append(o.dtypes, dtype)
	}
}

// finite puts what is not finite below all errors.
func finite(v float64) float64 {
	if math.IsInf(v, 0) {
		return -1
	}
	return v
}

// worst is the verdict of an op that both runs have.
func worst(pairs []judge.Judged) string {
	has := func(is func(*judge.Judged) bool) bool {
		for i := range pairs {
			if is(&pairs[i]) {
				return true
			}
		}
		return false
	}
	of := func(class judge.Class) func(*judge.Judged) bool {
		return func(j *judge.Judged) bool { return j.Class == class }
	}
	differing := func(class judge.Class) func(*judge.Judged) bool {
		return func(j *judge.Judged) bool { return j.Differs && j.Class == class }
	}
	switch {
	case has(differing(judge.NotFinite)):
		return judge.NotFinite.String()
	case has(differing(judge.Diverged)):
		return judge.Diverged.String()
	case has(func(j *judge.Judged) bool { return j.Differs }):
		return judge.Structure.String()
	case has(of(judge.Unknown)):
		return judge.Unknown.String()
	case has(of(judge.Unpaired)):
		return judge.Unpaired.String()
	}
	return "same"
}

// sequenceTable has columns of the report sequence.
func sequenceTable(at pair.Step, ops []op) arrow.RecordBatch {
	ofGreatest := func(get func(*judge.Judged) float64) func(*op) (float64, bool) {
		return func(o *op) (float64, bool) {
			if o.greatest == nil {
				return 0, false
			}
			v := get(o.greatest)
			return v, !math.IsNaN(v)
		}
	}
	return column.Record([]column.Of[op]{
		column.Uint32s("rank", func(*op) uint32 { return at.Rank }),
		column.Uint32s("step", func(*op) uint32 { return at.Step }),
		column.Uint32s("bench_rank", func(*op) uint32 { return at.BenchRank }),
		column.Uint32s("bench_step", func(*op) uint32 { return at.BenchStep }),
		column.Uint32s("position", func(o *op) uint32 { return o.Position }),
		column.Numbers64("parent_position", func(o *op) (uint64, bool) {
			if o.parent == nil {
				return 0, false
			}
			return uint64(*o.parent), true
		}),
		column.Text("problem_op", func(o *op) string { return o.ProblemOp }),
		column.Text("bench_op", func(o *op) string { return o.BenchOp }),
		column.Words("level", func(o *op) string { return o.Level }),
		column.Words("phase", func(o *op) string { return o.Phase }),
		column.Words("module", func(o *op) string { return o.Module }),
		column.Words("verdict", func(o *op) string { return o.verdict }),
		column.Uint64s("differing_count", func(o *op) uint64 { return o.differing }),
		column.Floats("error", ofGreatest(func(j *judge.Judged) float64 { return j.Error })),
		column.Floats("tolerance", ofGreatest(func(j *judge.Judged) float64 { return j.Tolerance })),
		column.Words("paired_by", func(o *op) string { return o.Reason }),
		column.Words("dtype", func(o *op) string { return strings.Join(o.dtypes, " ") }),
	}, ops)
}
