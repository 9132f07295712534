package judge

import (
	"math"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// siteRule has the rules for the tensors of one site.
type siteRule struct {
	depth      int32
	tolerances []toleranceRule // exceptions whose op matches
	sort       string          // of the first exception that fits; empty for none
}

// site gives the rules of a site. A site in no program of either run has the usual depth.
func (r *Rules) site(id uint64) *siteRule {
	if known := r.sites.get(id); known != nil {
		return known
	}
	site, ok := r.definitions.Sites[id]
	if !ok {
		return &siteRule{depth: usualLayers}
	}
	op, parent, ok := r.placedOp(site.OpID)
	if !ok {
		return &siteRule{depth: usualLayers}
	}
	return r.sites.put(id, r.siteRule(site, op, parent))
}

func (r *Rules) siteRule(site schemas.SiteRow, op, parent *schemas.OpRow) siteRule {
	rule := siteRule{depth: depth(layerOf(op, parent), r.layers, op.Phase)}
	module := moduleOf(op, parent)
	for _, t := range r.tolerances {
		if t.op.fits(op.Name) || t.op.fits(module) {
			rule.tolerances = append(rule.tolerances, t)
		}
	}
	if sorts := r.sorts(place{op.ClassOrAPI, site.Role, site.Path}); len(sorts) > 0 {
		rule.sort = sorts[0]
	}
	return rule
}

// placedOp is an op of the programs, with the module that calls it, if that is known.
func (r *Rules) placedOp(id uint64) (op, parent *schemas.OpRow, ok bool) {
	parentID, placed := r.parents[id]
	op = r.definitions.Ops[id]
	return op, r.definitions.Ops[parentID], placed && op != nil
}

func layerOf(op, parent *schemas.OpRow) int32 {
	if op.LayerIndex >= 0 || parent == nil {
		return op.LayerIndex
	}
	return parent.LayerIndex
}

func moduleOf(op, parent *schemas.OpRow) string {
	if op.ModulePath == "" && parent != nil {
		return parent.ModulePath
	}
	return op.ModulePath
}

// parentsOf gives the ops of all programs of both runs, each with the module that calls it, by the greatest id.
func parentsOf(definitions *rows.Definitions, runs ...*rows.Run) map[uint64]uint64 {
	parents, seen := map[uint64]uint64{}, map[uint64]bool{}
	for _, run := range runs {
		for i := range run.Steps {
			program := run.Steps[i].ProgramID
			if seen[program] {
				continue
			}
			seen[program] = true
			for _, row := range definitions.Programs[program] {
				parents[row.OpID] = max(parents[row.OpID], row.ParentOpID)
			}
		}
	}
	return parents
}

// countLayers is the number of layers in the programs; the usual one where they have none.
func (r *Rules) countLayers() int32 {
	deepest := int32(math.MinInt32)
	for id := range r.parents {
		if op, parent, ok := r.placedOp(id); ok {
			deepest = max(deepest, layerOf(op, parent))
		}
	}
	if deepest < 0 {
		return usualLayers
	}
	return deepest + 1
}
