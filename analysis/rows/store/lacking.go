package store

import (
	"slices"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// mayLack says whether tap.undefined_ids may have a row of the run, so that only a run that lacks something pays for the
// question. All that a run refers to is known here, but for what its calls and failures do.
func mayLack(a *asked, d *rows.Definitions) bool {
	return slices.ContainsFunc(a.batches, func(b batches) bool { return b.kind == "call" || b.kind == "failure" }) ||
		slices.ContainsFunc(a.census, func(c counted) bool {
			return d.Layouts[c.layout] == nil || d.Ops[d.Sites[c.site].OpID] == nil
		}) ||
		slices.ContainsFunc(a.calls, func(c schemas.ProgramStackRow) bool {
			_, known := d.Stacks[c.StackID]
			return !known
		}) ||
		stepsLack(a, d)
}

// stepsLack says so of ranks, programs and their ops.
func stepsLack(a *asked, d *rows.Definitions) bool {
	ranks, programs := map[uint32]bool{}, map[uint64]bool{0: true} // a step that never named its program refers to none
	for i := range a.ranks {
		ranks[a.ranks[i].Rank] = true
	}
	for i := range a.steps {
		step := &a.steps[i]
		if !ranks[step.Rank] || !programs[step.ProgramID] && programLacks(d, step.ProgramID) {
			return true
		}
		programs[step.ProgramID] = true
	}
	return false
}

func programLacks(d *rows.Definitions, id uint64) bool {
	program := d.Programs[id]
	return len(program) == 0 || slices.ContainsFunc(program, func(p schemas.ProgramRow) bool {
		return lacksOp(d, p.OpID) || lacksOp(d, p.ParentOpID)
	})
}

func lacksOp(d *rows.Definitions, id uint64) bool { return id != 0 && d.Ops[id] == nil }
