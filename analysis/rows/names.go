package rows

import (
	"cmp"

	"github.com/tensortap/tensortap/schemas"
)

// OpName is the name of the op of a site, or else the id that is known.
func (d *Definitions) OpName(siteID uint64) string {
	opID := d.Sites[siteID].OpID
	op := d.Op(opID)
	switch {
	case op.Name != "":
		return op.Name
	case opID != 0:
		return schemas.FormatID(opID)
	}
	return schemas.FormatID(siteID)
}

// Op is never nil: of an op that is not known it is the zero row.
func (d *Definitions) Op(id uint64) *schemas.OpRow {
	if op := d.Ops[id]; op != nil {
		return op
	}
	return &schemas.OpRow{}
}

// LayoutOrZero is the layout, or the zero row where it is not known.
func (d *Definitions) LayoutOrZero(id uint64) *schemas.LayoutRow {
	if layout := d.Layout(id); layout != nil {
		return layout
	}
	return &schemas.LayoutRow{}
}

// Call is the first row of an op in a program.
func (d *Definitions) Call(program, op uint64) (row schemas.ProgramRow, found bool) {
	for _, row := range d.Programs[program] {
		if row.OpID == op {
			return row, true
		}
	}
	return schemas.ProgramRow{}, false
}

// Module is the path of the module that a call ran in: its own, if it is a module, else the caller's, or its name.
func (d *Definitions) Module(call schemas.ProgramRow) string {
	caller := d.Op(call.ParentOpID)
	return cmp.Or(d.Op(call.OpID).ModulePath, caller.ModulePath, caller.Name)
}

// Frames is the call stack of a call of a run, innermost first; none where it is not known.
func (d *Definitions) Frames(run *Run, call schemas.ProgramRow) []string {
	return d.Stacks[run.Stacks[Call{Program: call.ProgramID, Position: call.Position}]]
}
