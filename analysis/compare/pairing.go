package compare

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tensortap/tensortap/analysis/internal/column"
	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/schemas"
)

// Reasons of a pair of ops beside those of an alignment.
const (
	reasonSameID     = "id"          // both ran the same program
	reasonNotAligned = "not_aligned" // the programs were too many to compare, so nothing is known of the bench's
)

// PairedOp is an op of a program of either run beside its partner in the other, if it has one.
type PairedOp struct {
	Step, Rank                 uint32 // the first at which the programs stand beside each other
	StepCount                  uint64 // how often they do, over all ranks
	Position                   uint32 // in the order that merges both programs
	ProblemOp, BenchOp         string // names; empty where it stands alone
	ProblemModule, BenchModule string
	Reason                     string // why they are paired, or why one stands alone
	Line                       string // of the map that paired them; empty where none did
}

// Alone says whether the op has no partner.
func (p *PairedOp) Alone() bool { return p.ProblemOp == "" || p.BenchOp == "" }

// Pairing is how the ops of all programs that stand beside each other were paired, in execution order.
func (j *Job) Pairing() []PairedOp {
	var places []programPlace
	for _, at := range j.steps {
		if at.InProblem && at.InBench && at.ProblemProgram != 0 && at.BenchProgram != 0 {
			places = counted(places, at)
		}
	}
	slices.SortStableFunc(places, func(a, b programPlace) int {
		return cmp.Or(cmp.Compare(a.first.Step, b.first.Step), cmp.Compare(a.first.Rank, b.first.Rank))
	})
	var paired []PairedOp
	for _, place := range places {
		for _, row := range j.alignedOr(place.first) {
			paired = append(paired, j.pairedOp(&place, &row))
		}
	}
	return paired
}

// programPlace is two programs beside each other, the first place at which they are, and how many there are.
type programPlace struct {
	first pair.Step
	count uint64
}

// counted adds a place to those of its programs. Places come by step, then rank.
func counted(places []programPlace, at pair.Step) []programPlace {
	known := slices.IndexFunc(places, func(p programPlace) bool {
		return p.first.ProblemProgram == at.ProblemProgram && p.first.BenchProgram == at.BenchProgram
	})
	if known < 0 {
		return append(places, programPlace{at, 1})
	}
	places[known].count++
	return places
}

// alignedOr is the alignment of the programs of a place, or that of each op with itself, or alone.
func (j *Job) alignedOr(at pair.Step) []schemas.AlignmentRow {
	if rows := j.alignment(at.ProblemProgram, at.BenchProgram); len(rows) > 0 {
		return rows
	}
	var rows []schemas.AlignmentRow
	for _, call := range j.source.Definitions().Programs[at.ProblemProgram] {
		row := schemas.AlignmentRow{Position: call.Position, ProblemOpID: call.OpID, Reason: reasonNotAligned, ProblemPosition: &call.Position}
		if at.ProblemProgram == at.BenchProgram {
			row.BenchOpID, row.BenchPosition, row.Reason = call.OpID, &call.Position, reasonSameID
		}
		rows = append(rows, row)
	}
	return rows
}

func (j *Job) pairedOp(place *programPlace, row *schemas.AlignmentRow) PairedOp {
	paired := PairedOp{Step: place.first.Step, Rank: place.first.Rank, StepCount: place.count, Position: row.Position, Reason: row.Reason}
	paired.ProblemOp, paired.ProblemModule = j.calledOp(place.first.ProblemProgram, row.ProblemOpID, row.ProblemPosition)
	paired.BenchOp, paired.BenchModule = j.calledOp(place.first.BenchProgram, row.BenchOpID, row.BenchPosition)
	if !paired.Alone() {
		paired.Line = j.lineOf(row.ProblemOpID, row.BenchOpID)
	}
	return paired
}

// calledOp is the name of an op of a program, and the module that it ran in.
func (j *Job) calledOp(program, op uint64, position *uint32) (name, module string) {
	if op == 0 || position == nil {
		return "", ""
	}
	definitions := j.source.Definitions()
	return cmp.Or(definitions.Op(op).Name, schemas.FormatID(op)), definitions.Module(j.call(program, op, *position))
}

// call is the row of an op in a program; without caller where the program does not have it there.
func (j *Job) call(program, op uint64, position uint32) schemas.ProgramRow {
	calls := j.source.Definitions().Programs[program]
	byPosition := func(c schemas.ProgramRow, position uint32) int { return cmp.Compare(c.Position, position) }
	if at, found := slices.BinarySearchFunc(calls, position, byPosition); found && calls[at].OpID == op {
		return calls[at]
	}
	return schemas.ProgramRow{OpID: op}
}

// lineOf is the line of the map by which one of two partners got the other, as FILE:NUMBER: text.
func (j *Job) lineOf(ops ...uint64) string {
	if j.mapped == nil {
		return ""
	}
	for _, op := range ops {
		if line, named := j.mapped.Line(op); named {
			return fmt.Sprintf("%s:%d: %s", j.request.Map.File, line.Number, line.Text)
		}
	}
	return ""
}

// PairingTable is the report pairing.
func PairingTable(paired []PairedOp) arrow.RecordBatch {
	return column.Record([]column.Of[PairedOp]{
		column.Uint32s("step", func(p *PairedOp) uint32 { return p.Step }),
		column.Uint32s("rank", func(p *PairedOp) uint32 { return p.Rank }),
		column.Uint64s("step_count", func(p *PairedOp) uint64 { return p.StepCount }),
		column.Uint32s("position", func(p *PairedOp) uint32 { return p.Position }),
		column.Text("problem_op", func(p *PairedOp) string { return p.ProblemOp }),
		column.Text("bench_op", func(p *PairedOp) string { return p.BenchOp }),
		column.Text("problem_module", func(p *PairedOp) string { return p.ProblemModule }),
		column.Text("bench_module", func(p *PairedOp) string { return p.BenchModule }),
		column.Text("reason", func(p *PairedOp) string { return p.Reason }),
		column.Text("line", func(p *PairedOp) string { return p.Line }),
	}, paired)
}
