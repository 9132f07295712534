package compare

import (
	"cmp"

	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/schemas"
)

// SequenceOp is an op of either run at a place beside its partner in the other, if it has one.
type SequenceOp struct {
	schemas.AlignmentRow
	ProblemOp, BenchOp string // names; empty where it stands alone
	Module             string // that the problem's ran in, or the bench's where that stands alone
	Level, Phase       string
	ParentOpID         uint64 // module or op that called it, in the run whose op it is known by; 0 where none did, or it is not known
}

// Op is the name by which the op is known: the problem's, or the bench's where that stands alone.
func (o *SequenceOp) Op() string { return cmp.Or(o.ProblemOp, o.BenchOp) }

// Sequence are the ops of a place in the order that merges both programs; none while the program of the problem is not known.
func (j *Job) Sequence(at pair.Step) []SequenceOp {
	rows := j.alignedOr(at)
	ops := make([]SequenceOp, len(rows))
	for i := range rows {
		ops[i] = j.sequenceOp(at, &rows[i])
	}
	return ops
}

func (j *Job) sequenceOp(at pair.Step, row *schemas.AlignmentRow) SequenceOp {
	op := SequenceOp{AlignmentRow: *row}
	var benchModule string
	op.ProblemOp, op.Module = j.calledOp(at.ProblemProgram, row.ProblemOpID, row.ProblemPosition)
	op.BenchOp, benchModule = j.calledOp(at.BenchProgram, row.BenchOpID, row.BenchPosition)
	op.Module = cmp.Or(op.Module, benchModule)
	switch {
	case row.ProblemPosition != nil:
		op.ParentOpID = j.call(at.ProblemProgram, row.ProblemOpID, *row.ProblemPosition).ParentOpID
	case row.BenchPosition != nil:
		op.ParentOpID = j.call(at.BenchProgram, row.BenchOpID, *row.BenchPosition).ParentOpID
	}
	known := j.source.Definitions().Op(cmp.Or(row.ProblemOpID, row.BenchOpID))
	op.Level, op.Phase = known.Level, known.Phase
	return op
}
