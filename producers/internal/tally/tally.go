// Package tally turns calls that a tool has logged into the rows of one step: counts by signature, and the calls that
// failed.
package tally

import (
	"strings"

	"github.com/tensortap/tensortap/producers/internal/batch"
	"github.com/tensortap/tensortap/schemas"
)

// Call is a call by its signature.
type Call struct {
	Signature schemas.SignatureRow // with its id
	Op        string               // name of the op, where the call failed
	Seq       uint64
	Type      string // of what became of the call, such as the class of an exception; empty where it went well
	Message   string
}

// Tally gathers the calls of a step of a rank. It is not safe for use by several goroutines.
type Tally struct {
	out    *batch.Set
	counts map[uint64]uint64 // by signature
	order  []uint64          // of first calls
	step   schemas.StepRow
}

// Begin hands over the rank's row. Of it and of the step's only what the source knows is given.
func Begin(out *batch.Set, rank schemas.RankRow, step schemas.StepRow) (*Tally, error) { //nolint:gocritic // copied to be completed
	id := out.ID
	rank.RunID, rank.Rank, rank.Epoch = id.RunID, id.Rank, id.Epoch
	for _, unknown := range []*int16{
		&rank.TP, &rank.PP, &rank.DP, &rank.CP, &rank.EP, &rank.TPSize, &rank.PPSize, &rank.DPSize, &rank.CPSize, &rank.EPSize,
	} {
		*unknown = -1
	}
	step.RunID, step.Rank, step.Epoch, step.Complete = id.RunID, id.Rank, id.Epoch, 1
	return &Tally{out: out, counts: map[uint64]uint64{}, step: step}, batch.Add(out, out.Rank, &rank, 0)
}

// Add counts a call, and notes its failure.
func (t *Tally) Add(c *Call) error {
	id := c.Signature.SignatureID
	if t.counts[id] == 0 {
		t.order = append(t.order, id)
		if err := batch.Add(t.out, t.out.Signature, &c.Signature, textOf(&c.Signature)); err != nil {
			return err
		}
	}
	t.counts[id]++
	t.step.OpCount++
	if c.Type == "" {
		return nil
	}
	return t.fail(c)
}

func textOf(s *schemas.SignatureRow) int {
	text := len(s.OpName)
	for _, lines := range [][]string{s.Inputs, s.Outputs} {
		for _, line := range lines {
			text += len(line)
		}
	}
	return text
}

func (t *Tally) fail(c *Call) error {
	op := schemas.ParseOpName(c.Op)
	if err := batch.Add(t.out, t.out.Op, &op, 2*len(op.Name)); err != nil {
		return err
	}
	return t.out.AddFailure(&schemas.FailureRow{
		RunID: t.step.RunID, Rank: t.step.Rank, Epoch: t.step.Epoch, EventTimeNs: t.step.EventTimeNs, Step: t.step.Step, Seq: c.Seq,
		OpID: op.OpID, Type: c.Type, Message: c.Message, Inputs: strings.Join(c.Signature.Inputs, "\n"),
	})
}

// Drop counts calls that are lost, and why.
func (t *Tally) Drop(count uint64, reason string) {
	t.step.DroppedCount += count
	switch {
	case strings.Contains(t.step.DropReason, reason):
	case t.step.DropReason == "":
		t.step.DropReason = reason
	default:
		t.step.DropReason += "; " + reason
	}
}

// End hands over the rows that need the whole step, and all that is left.
func (t *Tally) End() error {
	if len(t.order) > 0 {
		if err := t.addCalls(); err != nil {
			return err
		}
	}
	if err := batch.Add(t.out, t.out.Step, &t.step, 0); err != nil {
		return err
	}
	return t.out.Rest()
}

func (t *Tally) addCalls() error {
	rows := make([]schemas.TallyRow, len(t.order))
	for i, id := range t.order {
		rows[i] = schemas.TallyRow{Position: uint32(i), SignatureID: id, CallCount: t.counts[id]} //nolint:gosec // fewer than calls
	}
	id := schemas.TallyID(rows)
	for i := range rows {
		rows[i].TallyID = id
		if err := batch.Add(t.out, t.out.Tally, &rows[i], 0); err != nil {
			return err
		}
	}
	return t.out.AddCall(&schemas.CallRow{
		RunID: t.step.RunID, Rank: t.step.Rank, Epoch: t.step.Epoch, EventTimeNs: t.step.EventTimeNs,
		Step: t.step.Step, TallyID: id, CallCount: t.step.OpCount,
	})
}
