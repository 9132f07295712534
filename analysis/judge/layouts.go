package judge

import (
	"slices"

	"github.com/tensortap/tensortap/schemas"
)

const (
	kindTensor = "tensor"
	kindOther  = "other"
	kindDevice = "device"
	kindDtype  = "dtype"
)

type layoutIDs struct{ problem, bench uint64 }

// layoutPair has the facts about a pair that follow from its two layouts, without its numbers.
type layoutPair struct {
	alike       bool    // the same, or different in nothing that counts
	cast        bool    // alike but for the width of floats, of two implementations
	sameLiteral bool    // the same value by the layout alone, or no elements
	roundoff    float64 // of the coarser dtype
	sumRoundoff float64 // of the sums in the statistics of the coarser side
	benchDtype  string  // of a tensor; else empty
	unreported  uint32  // statistics that a side leaves out because of the dtype
}

// layoutPair remembers pairs of known layouts.
func (r *Rules) layoutPair(problem, bench uint64) *layoutPair {
	ids := layoutIDs{problem, bench}
	if known := r.layouts.get(ids); known != nil {
		return known
	}
	p, b := r.definitions.Layout(problem), r.definitions.Layout(bench)
	pair := r.pairLayouts(ids, p, b)
	if p == nil || b == nil {
		return &pair
	}
	return r.layouts.put(ids, pair)
}

func (r *Rules) pairLayouts(ids layoutIDs, problem, bench *schemas.LayoutRow) layoutPair {
	pair := layoutPair{
		alike:       ids.problem == ids.bench || (problem != nil && bench != nil && r.alike(problem, bench)),
		cast:        r.castInTwo(problem, bench),
		roundoff:    max(layoutRoundoff(problem), layoutRoundoff(bench)),
		unreported:  unreported(r.sources[0], problem) | unreported(r.sources[1], bench),
		sumRoundoff: max(sumRoundoff(r.sources[0], layoutRoundoff(problem)), sumRoundoff(r.sources[1], layoutRoundoff(bench))),
	}
	if ids.problem == ids.bench && problem != nil {
		pair.sameLiteral = isLiteral(problem)
	}
	if bench != nil && bench.Kind == kindTensor {
		pair.benchDtype = bench.Dtype
	}
	return pair
}

// alike says whether two layouts differ in nothing that counts. Differences that change no number do not count
// (strides, device, placement), nor does a dtype that differs over the whole run, which is reported once, as a
// difference of the runs.
func (r *Rules) alike(problem, bench *schemas.LayoutRow) bool {
	if r.config.Implementations != nil && problem.Kind == kindTensor && bench.Kind == kindTensor {
		return r.alikeInTwo(problem, bench)
	}
	return problem.Kind == bench.Kind && slices.Equal(problem.Shape, bench.Shape) &&
		(problem.Dtype == bench.Dtype || r.areMainDtypes(problem.Dtype, bench.Dtype)) &&
		r.sameLiteral(problem, bench) && sameGrad(problem.RequiresGrad, bench.RequiresGrad)
}

func (r *Rules) areMainDtypes(problem, bench string) bool {
	return r.mainDtype == [2]string{problem, bench}
}

func (r *Rules) sameLiteral(problem, bench *schemas.LayoutRow) bool {
	return problem.Literal == bench.Literal || problem.Kind == kindDevice ||
		(problem.Kind == kindDtype && r.areMainDtypes(problem.Literal, bench.Literal))
}

// sameGrad says whether requires_grad is the same, as far as it is known.
func sameGrad(problem, bench *uint8) bool {
	return problem == nil || bench == nil || *problem == *bench
}

// isLiteral says whether a layout determines the value: an argument that is no tensor, or a tensor without elements.
func isLiteral(l *schemas.LayoutRow) bool {
	if l.Kind == kindTensor {
		return slices.Contains(l.Shape, 0)
	}
	return l.Kind != kindOther
}

// layoutRoundoff is the unit round-off of a tensor's dtype; 0 for anything else.
func layoutRoundoff(l *schemas.LayoutRow) float64 {
	if l == nil || l.Kind != kindTensor {
		return 0
	}
	return roundoff(l.Dtype)
}
