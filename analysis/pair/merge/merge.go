// Package merge makes one rank of each tensor-parallel group of a run, where two
// runs split their tensors among different numbers of ranks. How parts make a
// whole is read off the tensor that stands beside them in the other run.
package merge

import (
	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// rules is the version of the rules by which ranks are merged.
const rules = 1

// Sizes are the numbers of ranks among which two runs split their tensors.
type Sizes struct {
	Problem, Bench uint64
	known          bool // whether the ranks of both say so
}

// SizesOf are the sizes of the runs' tensor-parallel groups; if ranks do not know their group, it is the whole
// world.
func SizesOf(problem, bench *rows.Run) Sizes {
	p, problemKnown := pair.GroupSize(problem)
	b, benchKnown := pair.GroupSize(bench)
	return Sizes{Problem: p, Bench: b, known: problemKnown && benchKnown}
}

// Same says whether the ranks can be compared without merging.
func (s Sizes) Same() bool { return s.Problem == s.Bench }

// Certain says whether unequal groups are known to hold parts. If not, worlds of different sizes may also hold
// copies, and the shapes of weights decide: SplitWeight of a step of the runs.
func (s Sizes) Certain() bool { return s.known }

// SplitWeight says whether a weight has, along one dimension, as much less than in the other run as follows from the
// numbers of ranks. An input of one dimension, or behind the first, that requires a gradient is a weight, too.
func (s Sizes) SplitWeight(problem, bench *rows.Tensors, matches []pair.Match, definitions *rows.Definitions) bool {
	for _, m := range matches {
		if m.Problem < 0 || m.Bench < 0 {
			continue
		}
		p, b := layoutOf(problem, m.Problem, definitions), layoutOf(bench, m.Bench, definitions)
		if p == nil || b == nil || p.Kind != kindTensor || !s.splits(p.Shape, b.Shape) {
			continue
		}
		if site, ok := definitions.Sites[problem.SiteID[m.Problem]]; ok && isWeight(site, p) {
			return true
		}
	}
	return false
}

func isWeight(site schemas.SiteRow, layout *schemas.LayoutRow) bool {
	if site.Role == "parameter" {
		return true
	}
	trained := layout.RequiresGrad != nil && *layout.RequiresGrad == 1
	return site.Role == "input" && site.Path != "0" && trained && len(layout.Shape) <= 2
}

// splits says whether one dimension is another, and that by the numbers of ranks.
func (s Sizes) splits(problem, bench []int64) bool {
	if len(problem) != len(bench) {
		return false
	}
	others, split := 0, false
	for i := range problem {
		if problem[i] != bench[i] {
			others++
			split = problem[i]*int64(s.Problem) == bench[i]*int64(s.Bench) //nolint:gosec // numbers of ranks
		}
	}
	return others == 1 && split
}

func layoutOf(t *rows.Tensors, row int32, definitions *rows.Definitions) *schemas.LayoutRow {
	if t.LayoutID == nil {
		return nil
	}
	return definitions.Layout(t.LayoutID[row])
}
