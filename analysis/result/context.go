package result

import (
	"cmp"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tensortap/tensortap/analysis/internal/column"
	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// Before is an op that ran before another one, or that one itself.
type Before struct {
	Op, Module     string
	Seq            uint64
	ErrorIn        float64 // greatest error of its inputs; NaN where none is known
	ErrorOut       float64 // and of its outputs
	InputCount     uint64
	OutputCount    uint64
	DifferingCount uint64
	First          *judge.Judged // its first difference; nil where nothing differs
	Gives          []string      // its arguments that are inputs of the op, by role and path
}

// OpContext gives an op of the problem, by its full name, and the ops that ran before it at a place, the nearest
// first, at most as many as the limit. The source of an input is not recorded: an earlier output with the very same
// statistics is taken for it.
func OpContext(op string, judged []judge.Judged, limit int, definitions *rows.Definitions) []Before {
	c := contexts{names: &names{definitions: definitions}, own: schemas.OpID(op), ops: map[uint64]*Before{}}
	c.look(judged)
	for i := range judged {
		if site := c.names.site(judged[i].Problem.SiteID); judged[i].InProblem && site.SiteID != 0 {
			c.add(&judged[i], site)
		}
	}
	before := make([]Before, 0, len(c.ops))
	for _, one := range c.ops {
		before = append(before, *one)
	}
	slices.SortFunc(before, func(a, b Before) int { return cmp.Or(cmp.Compare(b.Seq, a.Seq), cmp.Compare(a.Op, b.Op)) })
	return before[:min(limit, len(before))]
}

type contexts struct {
	names *names
	own   uint64
	begin uint64 // where the op itself begins
	taken []takenTensor
	ops   map[uint64]*Before
}

// takenTensor is an input of the op.
type takenTensor struct {
	numbers numbers
	place   string
}

// numbers identify a tensor. NaN is like nothing.
type numbers struct {
	elements           uint64
	min, max, mean, l2 float64
}

func numbersOf(o *rows.Observation) numbers {
	return numbers{o.ElementCount, o.Min, o.Max, o.Mean, o.L2}
}

// telling says whether the numbers say which tensor it is.
func telling(o *rows.Observation) bool {
	const statistics = schemas.MeasuredMin | schemas.MeasuredMax | schemas.MeasuredMean | schemas.MeasuredL2
	return o.Measured&statistics != 0 && o.ElementCount > 1
}

// look finds the beginning of the op and its inputs.
func (c *contexts) look(judged []judge.Judged) {
	found := false
	for i := range judged {
		o := &judged[i].Problem
		site := c.names.site(o.SiteID)
		if !judged[i].InProblem || site.OpID != c.own {
			continue
		}
		if !found || o.Seq < c.begin {
			c.begin, found = o.Seq, true
		}
		if !isGiven(site) && telling(o) {
			c.taken = append(c.taken, takenTensor{numbersOf(o), site.Role + " " + site.Path})
		}
	}
}

// add counts a row of the op or of one before it.
func (c *contexts) add(j *judge.Judged, site schemas.SiteRow) {
	if site.OpID != c.own && j.Problem.Seq >= c.begin {
		return
	}
	one := c.ops[site.OpID]
	if one == nil {
		op := c.names.op(site.OpID)
		one = &Before{Op: op.Name, Module: op.ModulePath, Seq: j.Problem.Seq, ErrorIn: math.NaN(), ErrorOut: math.NaN()}
		c.ops[site.OpID] = one
	}
	one.Seq = min(one.Seq, j.Problem.Seq)
	counter, worst := &one.InputCount, &one.ErrorIn
	if isGiven(site) {
		counter, worst = &one.OutputCount, &one.ErrorOut
	}
	*counter++
	if off := errorOf(j); !math.IsNaN(off) {
		*worst = greater(*worst, off)
	}
	if j.Differs {
		one.DifferingCount++
	}
	if j.Differs && (one.First == nil || j.Problem.Seq < one.First.Problem.Seq) {
		one.First = j
	}
	if site.OpID != c.own && isGiven(site) && telling(&j.Problem) {
		c.give(one, numbersOf(&j.Problem))
	}
}

// give notes the op's arguments with the same numbers.
func (c *contexts) give(one *Before, given numbers) {
	for _, t := range c.taken {
		if at, found := slices.BinarySearch(one.Gives, t.place); !found && t.numbers == given {
			one.Gives = slices.Insert(one.Gives, at, t.place)
		}
	}
}

// ContextTable are ops before one as Arrow columns.
func ContextTable(before []Before) arrow.RecordBatch {
	first := func(get func(*judge.Judged) string) func(*Before) string {
		return func(b *Before) string {
			if b.First == nil {
				return ""
			}
			return get(b.First)
		}
	}
	return column.Record([]column.Of[Before]{
		column.Text("op", func(b *Before) string { return b.Op }),
		column.Text("module", func(b *Before) string { return b.Module }),
		column.Uint64s("seq", func(b *Before) uint64 { return b.Seq }),
		column.Floats("error_in", func(b *Before) (float64, bool) { return known(b.ErrorIn) }),
		column.Floats("error_out", func(b *Before) (float64, bool) { return known(b.ErrorOut) }),
		column.Uint64s("input_count", func(b *Before) uint64 { return b.InputCount }),
		column.Uint64s("output_count", func(b *Before) uint64 { return b.OutputCount }),
		column.Uint64s("differing_count", func(b *Before) uint64 { return b.DifferingCount }),
		column.Text("verdict", first(func(j *judge.Judged) string { return j.Class.String() })),
		column.Text("evidence", first(func(j *judge.Judged) string { return j.Evidence.String() })),
		column.Texts("gives", func(b *Before) []string { return b.Gives }),
	}, before)
}
