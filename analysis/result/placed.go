package result

import (
	"cmp"
	"math"
	"slices"

	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/rows"
)

// Judged are the verdicts of all pairs of the place, in execution order.
func (p *Placed) Judged() []judge.Judged { return p.judged }

// Summary counts the results of the place.
func (p *Placed) Summary() StepSummary { return p.summary }

// First is the first difference in the place; nil where nothing differs.
func (p *Placed) First() *FirstDifference {
	if p.first < 0 {
		return nil
	}
	first := &FirstDifference{Difference: *p.names.difference(p.at, &p.judged[p.first]), DifferingCount: p.summary.DifferingCount}
	first.ErrorIn, first.ErrorOut = p.errorsOfOp(&first.Judged)
	return first
}

// LayerErrors are how far the runs lie apart in one layer of the model and one direction, at one place.
type LayerErrors struct {
	Direction      string
	Index          int32  // -1: outside of the layers
	Path           string // of the module that is the layer; empty where no path says it
	PairedCount    uint64
	DifferingCount uint64
	NotFiniteCount uint64
	Greatest       float64 // of the finite errors; NaN where there is none
	Median         float64 // likewise
	GreatestSite   uint64  // the first one in the problem
}

// Layers are the layers with a measurement on both sides, by direction, number and path.
func (p *Placed) Layers() []LayerErrors {
	layers := make([]LayerErrors, 0, len(p.layers))
	for key, sum := range p.layers {
		l := LayerErrors{
			Direction: key.direction, Index: key.index, Path: key.path,
			PairedCount: sum.paired, DifferingCount: sum.differing, NotFiniteCount: sum.notFinite, Greatest: math.NaN(), Median: math.NaN(),
		}
		if n := len(sum.errors); n > 0 {
			slices.Sort(sum.errors)
			l.Greatest, l.GreatestSite, l.Median = sum.greatest, sum.greatestSite, sum.errors[(n-1)/2]
		}
		layers = append(layers, l)
	}
	slices.SortFunc(layers, func(a, b LayerErrors) int {
		return cmp.Or(cmp.Compare(a.Direction, b.Direction), cmp.Compare(a.Index, b.Index), cmp.Compare(a.Path, b.Path))
	})
	return layers
}

// CallOf is the module that called the op of a pair at the place, and the line of the user's own code that led there; 0
// and empty where they are not known. An op that only the bench has was called in the bench, whatever has its name in
// the problem.
func (p *Placed) CallOf(j *judge.Judged) (parent uint64, userFrame string) {
	n, op := p.names, p.names.site(j.Own().SiteID).OpID
	run, program := n.problem, p.at.ProblemProgram
	if !j.InProblem {
		run, program = n.bench, p.at.BenchProgram
	}
	call, found := n.call(program, op)
	if !found {
		return 0, ""
	}
	stack := run.Stacks[rows.Call{Program: program, Position: call.Position}]
	return call.ParentOpID, n.frames.User(n.definitions.Stacks[stack])
}
