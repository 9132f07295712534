package pair

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/tensortap/tensortap/analysis/pair/align"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// Programs is a program of the problem beside one of the bench.
type Programs struct{ Problem, Bench uint64 }

// Program is a program in the form for alignment: its ops, and behind them parents that are not
// among them.
type Program struct {
	ID        uint64
	Ops       []align.Op
	Positions []uint32 // of each op; 0 of parents that are none
}

// NewProgram is a program with the definitions of its ops, as far as they are known.
func NewProgram(id uint64, definitions *rows.Definitions) *Program {
	list := definitions.Programs[id]
	p := &Program{ID: id, Ops: make([]align.Op, 0, len(list)), Positions: make([]uint32, 0, len(list))}
	ops := make(map[uint64]bool, len(list))
	for i := range list {
		p.add(list[i], definitions.Ops)
		ops[list[i].OpID] = true
	}
	for _, parent := range absentParents(list, ops) {
		p.add(schemas.ProgramRow{OpID: parent}, definitions.Ops)
		p.Ops[len(p.Ops)-1].Absent = true
	}
	return p
}

// absentParents are the parents that have no position, by id.
func absentParents(list []schemas.ProgramRow, ops map[uint64]bool) []uint64 {
	var parents []uint64
	for i := range list {
		if parent := list[i].ParentOpID; parent != 0 && !ops[parent] {
			parents = append(parents, parent)
		}
	}
	slices.Sort(parents)
	return slices.Compact(parents)
}

func (p *Program) add(row schemas.ProgramRow, defined map[uint64]*schemas.OpRow) {
	op := align.Op{ID: row.OpID, ParentID: row.ParentOpID}
	if d := defined[row.OpID]; d != nil {
		op.Level, op.Prefix, op.ModulePath, op.ClassOrAPI, op.CallIndex, op.Phase = d.Level, d.Prefix, d.ModulePath, d.ClassOrAPI, d.CallIndex, d.Phase
	}
	p.Ops, p.Positions = append(p.Ops, op), append(p.Positions, row.Position)
}

// Alignment is which op of one program is which of another.
type Alignment struct {
	Problem, Bench *Program
	Rows           []align.Row
}

// Align pairs the ops of two programs that were signed.
func Align(problem, bench *Program) *Alignment {
	return &Alignment{Problem: problem, Bench: bench, Rows: align.Programs(problem.Ops, bench.Ops)}
}

// Stored are the rows of an alignment.
func (a *Alignment) Stored() []schemas.AlignmentRow {
	list := make([]schemas.AlignmentRow, len(a.Rows))
	for i, r := range a.Rows {
		row := &list[i]
		row.ProblemProgramID, row.BenchProgramID = a.Problem.ID, a.Bench.ID
		row.Rules, row.Position, row.Reason = align.Rules, uint32(i), string(r.Reason) //nolint:gosec // as many as ops
		if r.Problem >= 0 {
			row.ProblemOpID, row.ProblemPosition = a.Problem.Ops[r.Problem].ID, &a.Problem.Positions[r.Problem]
		}
		if r.Bench >= 0 {
			row.BenchOpID, row.BenchPosition = a.Bench.Ops[r.Bench].ID, &a.Bench.Positions[r.Bench]
		}
	}
	content := hashOf(list)
	for i := range list {
		list[i].Content = content
	}
	return list
}

// hashOf is a hash of the rows without their own hash.
func hashOf(list []schemas.AlignmentRow) uint64 {
	hasher := xxh3.New()
	var buffer []byte
	for i := range list {
		r := &list[i]
		buffer = buffer[:0]
		for _, id := range []uint64{r.ProblemProgramID, r.BenchProgramID, uint64(r.Rules), r.ProblemOpID, r.BenchOpID} {
			buffer = binary.LittleEndian.AppendUint64(buffer, id)
		}
		for _, position := range []*uint32{r.ProblemPosition, r.BenchPosition} {
			if position != nil {
				buffer = binary.LittleEndian.AppendUint32(buffer, *position)
			}
		}
		_, _ = hasher.Write(append(buffer, r.Reason...)) // a hash never fails
	}
	return hasher.Sum64()
}

// renamed gives, for each op of the bench whose partner has another name, the partner's id; 0 where it has no
// partner.
func (a *Alignment) renamed() map[uint64]uint64 {
	ops := map[uint64]uint64{}
	for _, r := range a.Rows {
		if r.Bench < 0 {
			continue
		}
		own, partner := a.Bench.Ops[r.Bench].ID, uint64(0)
		if r.Problem >= 0 {
			partner = a.Problem.Ops[r.Problem].ID
		}
		if _, known := ops[own]; !known && partner != own {
			ops[own] = partner
		}
	}
	return ops
}

// Nobody is the name of a site of the bench without partner, whatever its own name.
const Nobody uint64 = 0

// Moved gives, for each site of the bench's tensors whose partner has another name, the name to pair by: the
// partner's site if the op was aligned, Nobody if the op stands alone.
func (a *Alignment) Moved(bench *rows.Tensors, definitions *rows.Definitions) map[uint64]uint64 {
	ops := a.renamed()
	moved := map[uint64]uint64{}
	for _, id := range bench.SiteID {
		site, known := definitions.Sites[id]
		if !known {
			continue
		}
		partner, renamed := ops[site.OpID]
		switch {
		case renamed && partner == 0:
			moved[id] = Nobody
		case renamed:
			moved[id] = schemas.SiteID(partner, site.Role, site.Path)
		}
	}
	return moved
}

// byPrograms orders pairs of programs.
func byPrograms(a, b Programs) int {
	return cmp.Or(cmp.Compare(a.Problem, b.Problem), cmp.Compare(a.Bench, b.Bench))
}
