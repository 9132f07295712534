package judge

import (
	"math"
	"slices"
	"strings"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// Implementations has what does not count between two implementations of one model.
type Implementations struct {
	Apart [2]map[uint64]string // sites of problem and bench without a counterpart in the other, with the reasons
	Casts [2]map[uint64]string // sites of problem and bench whose values are floats of another width than the other's
	Sums  [2]map[uint64]string // sites of problem and bench whose values may be parts of a sum
}

// ReasonNotComparable begins the reasons of pairs that two implementations keep in forms without anything in common. Such pairs
// count for no verdict.
const ReasonNotComparable = "not comparable: "

// NotComparable says whether two implementations keep it in ways that cannot be compared.
func (v *Verdict) NotComparable() bool { return strings.HasPrefix(v.Reason, ReasonNotComparable) }

// Reasons that follow from the tensors themselves.
const (
	PackedWeights = "packed weights"
	OwnArguments  = "arguments of one implementation"
	OtherTokens   = "other numbers of tokens"
)

// notComparable says why a pair, or a tensor without partner, cannot be compared; empty where it can.
func (r *Rules) notComparable(p *Pair) string {
	two := r.config.Implementations
	if reason := two.Apart[0][p.Problem.SiteID]; p.InProblem && reason != "" {
		return reason
	}
	if reason := two.Apart[1][p.Bench.SiteID]; p.InBench && reason != "" {
		return reason
	}
	if !p.Paired() {
		return ""
	}
	return r.ownForm(p)
}

// ownForm says why two tensors beside each other are in forms that have nothing in common; empty where they are not.
func (r *Rules) ownForm(p *Pair) string {
	problem, bench := r.definitions.Layout(p.Problem.LayoutID), r.definitions.Layout(p.Bench.LayoutID)
	if problem == nil || bench == nil {
		return ""
	}
	parameter := r.definitions.Sites[p.Problem.SiteID].Role == roleParameter
	switch {
	case problem.Kind != bench.Kind:
		return OwnArguments
	case problem.Kind != kindTensor:
		return ""
	case parameter && packed(problem, bench):
		return PackedWeights
	case !parameter && otherTokens(problem.Shape, bench.Shape):
		return OtherTokens
	}
	return ""
}

// otherTokens says whether two shapes are of rows of one length, and of other numbers of them: an engine may give a head the
// last tokens alone.
func otherTokens(problem, bench []int64) bool {
	if len(problem) == 0 || len(bench) == 0 || product(problem) == product(bench) {
		return false
	}
	return problem[len(problem)-1] == bench[len(bench)-1]
}

const roleParameter = "parameter"

// packed says whether one of two tensors is stored in another form: elsewhere, so that it has no elements, or in whole
// numbers beside floats.
func packed(problem, bench *schemas.LayoutRow) bool {
	return slices.Contains(problem.Shape, 0) != slices.Contains(bench.Shape, 0) || isWhole(problem.Dtype) != isWhole(bench.Dtype)
}

// isWhole says whether tensors of a dtype hold whole numbers.
func isWhole(dtype string) bool { return strings.Contains(strings.ToLower(dtype), "int") }

// leftApart is the verdict on what cannot be compared.
func leftApart(p *Pair, reason string) Verdict {
	nan := math.NaN()
	v := Verdict{
		Class: Unknown, Error: nan, ErrorLow: nan, ErrorHigh: nan, Tolerance: nan, ZScore: nan, Reason: ReasonNotComparable + reason,
	}
	switch {
	case p.InProblem && !p.InBench:
		v.Side = SideProblem
	case p.InBench && !p.InProblem:
		v.Side = SideBench
	}
	return v
}

// isCast says whether one of two implementations is known to give the value in other floats.
func (r *Rules) isCast(p *Pair) bool {
	two := r.config.Implementations
	return two != nil && (two.Casts[0][p.Problem.SiteID] != "" || two.Casts[1][p.Bench.SiteID] != "")
}

// isSum says whether the ranks of one of two implementations are known to hold parts of a sum there, if they differ.
func (r *Rules) isSum(p *Pair) bool {
	two := r.config.Implementations
	return two != nil && (two.Sums[0][p.Problem.SiteID] != "" || two.Sums[1][p.Bench.SiteID] != "")
}

// castInTwo says whether two tensors of two implementations differ in nothing that counts but the width of their floats.
func (r *Rules) castInTwo(problem, bench *schemas.LayoutRow) bool {
	if r.config.Implementations == nil || problem == nil || bench == nil || layoutRoundoff(problem) == 0 || layoutRoundoff(bench) == 0 {
		return false
	}
	same := *problem
	same.Dtype = bench.Dtype
	return r.alikeInTwo(&same, bench)
}

// alikeInTwo says whether two tensors of two implementations differ in nothing that counts: one may have joined or
// exchanged dimensions, a whole number more bits, a vocabulary rows of padding.
func (r *Rules) alikeInTwo(problem, bench *schemas.LayoutRow) bool {
	sameDtype := problem.Dtype == bench.Dtype || r.areMainDtypes(problem.Dtype, bench.Dtype) || isWhole(problem.Dtype) && isWhole(bench.Dtype)
	return sameDtype && (sameElements(problem.Shape, bench.Shape) || padding(problem.Shape, bench.Shape) != 0)
}

// sameElements says whether two shapes may be of the same elements: one is flat, or both have the same dimensions in any
// order, but for those of 1.
func sameElements(a, b []int64) bool {
	if product(a) != product(b) {
		return false
	}
	x, y := sizes(a), sizes(b)
	return len(x) <= 1 || len(y) <= 1 || slices.Equal(x, y) || a[len(a)-1] == b[len(b)-1]
}

func product(shape []int64) int64 {
	n := int64(1)
	for _, size := range shape {
		n *= size
	}
	return n
}

// sizes are the dimensions but those of 1, in ascending order.
func sizes(shape []int64) []int64 {
	list := slices.DeleteFunc(slices.Clone(shape), func(size int64) bool { return size == 1 })
	slices.Sort(list)
	return list
}

// mostPadding is the greatest number of rows by which a vocabulary is padded, for each rank.
const mostPadding = 512

// padding is the number of rows that the problem's matrix has more than the bench's; 0 where that is no padding.
func padding(problem, bench []int64) int64 {
	if len(problem) != 2 || len(bench) != 2 || problem[1] != bench[1] || problem[1] < 2 {
		return 0
	}
	more, least := problem[0]-bench[0], min(problem[0], bench[0])
	if more > mostPadding || more < -mostPadding || least < 2*mostPadding && max(more, -more) >= least {
		return 0
	}
	return more
}

// levelled is a pair as two implementations may be held against each other: without what depends on the order of elements
// where that is not the same, and without the rows of zeros of a padded vocabulary.
func (r *Rules) levelled(p *Pair) *Pair {
	level := *p
	problem, bench := r.definitions.LayoutOrZero(p.Problem.LayoutID), r.definitions.LayoutOrZero(p.Bench.LayoutID)
	same := slices.Equal(problem.Shape, bench.Shape)
	if !same {
		level.Problem.Sketch, level.Bench.Sketch = nil, nil
	}
	if !same || p.Problem.Digest != p.Bench.Digest {
		level.Problem.Digest, level.Problem.DigestKind = 0, schemas.DigestNone
		level.Bench.Digest, level.Bench.DigestKind = 0, schemas.DigestNone
	}
	switch more := padding(problem.Shape, bench.Shape); {
	case more > 0:
		shorten(&level.Problem, p.Bench.ElementCount)
	case more < 0:
		shorten(&level.Bench, p.Problem.ElementCount)
	}
	return &level
}

// shorten takes rows of zeros off. Norm and extremes stay, the mean is over fewer elements.
func shorten(o *rows.Observation, to uint64) {
	if to > 0 {
		o.Mean *= float64(o.ElementCount) / float64(to)
		o.ElementCount = to
	}
}
