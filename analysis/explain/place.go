package explain

import (
	"cmp"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tensortap/tensortap/analysis/internal/column"
	"github.com/tensortap/tensortap/analysis/origin"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// Place is where an op stands in a run: of the program that ran at a rank and step, or of another that has the op.
type Place struct {
	Op             string
	Rank, Step     uint32
	Module, Parent string
	Position       uint32
	UserFrame      string
	Frames         []string // innermost first
}

// placeOf looks at the wanted rank and step first, then at the rank, then at all; nil where no program has the op.
func placeOf(run *rows.Run, definitions *rows.Definitions, op string, wanted rows.Place) *Place {
	programs := map[uint64]*schemas.ProgramRow{} // the op's row in each; nil where it has none
	var best rows.Place
	var called *schemas.ProgramRow
	for i := range run.Steps {
		step := &run.Steps[i]
		call, known := programs[step.ProgramID]
		if !known {
			if row, found := definitions.Call(step.ProgramID, schemas.OpID(op)); found {
				call = &row
			}
			programs[step.ProgramID] = call
		}
		at := rows.Place{Rank: step.Rank, Step: step.Step}
		if call != nil && (called == nil || nearer(at, best, wanted)) {
			best, called = at, call
		}
	}
	if called == nil {
		return nil
	}
	frames := definitions.Frames(run, *called)
	return &Place{
		Op: op, Rank: best.Rank, Step: best.Step, Module: definitions.Module(*called), Parent: definitions.Op(called.ParentOpID).Name,
		Position: called.Position, UserFrame: origin.NewFrames().User(frames), Frames: frames,
	}
}

// nearer says whether one place is rather looked at than another.
func nearer(a, b, wanted rows.Place) bool {
	return cmp.Or(first(a == wanted, b == wanted), first(a.Rank == wanted.Rank, b.Rank == wanted.Rank),
		cmp.Compare(a.Step, b.Step), cmp.Compare(a.Rank, b.Rank)) < 0
}

// placeTable are places as Arrow columns.
func placeTable(places []Place) arrow.RecordBatch {
	return column.Record([]column.Of[Place]{
		column.Text("op", func(p *Place) string { return p.Op }),
		column.Uint32s("rank", func(p *Place) uint32 { return p.Rank }),
		column.Uint32s("step", func(p *Place) uint32 { return p.Step }),
		column.Text("module", func(p *Place) string { return p.Module }),
		column.Text("parent", func(p *Place) string { return p.Parent }),
		column.Uint32s("position", func(p *Place) uint32 { return p.Position }),
		column.Text("user_frame", func(p *Place) string { return p.UserFrame }),
		column.Texts("frames", func(p *Place) []string { return p.Frames }),
	}, places)
}
