package agent

import (
	"fmt"
	"strings"
	"time"

	"github.com/tensortap/tensortap/schemas"
)

// tallied is calls of one signature; ordinals as in the definitions.
type tallied struct {
	Signature uint32 `json:"s"`
	Module    uint32 `json:"m,omitempty"`
	Count     uint64 `json:"n"`
}

// callFacts are the facts of a call before it runs.
type callFacts struct {
	op     uint32
	path   string
	inputs string
}

func (c *catalogue) defineSignature(d *definition, out *batches) error {
	row := schemas.SignatureRow{OpName: d.Name, Inputs: d.Inputs, Outputs: d.Outputs}
	row.SignatureID = schemas.SignatureID(&row)
	var err error
	if c.signatures, err = set(c.signatures, d.ID, row.SignatureID); err != nil {
		return err
	}
	return add(out, out.signature, &row, textOf(row.Inputs)+textOf(row.Outputs))
}

func (c *catalogue) defineCall(d *definition) error {
	var err error
	c.calls, err = set(c.calls, d.ID, callFacts{op: d.Op, path: d.Path, inputs: strings.Join(d.Inputs, "\n")})
	return err
}

// tallied takes in a record of calls that were counted.
func (t *translator) tallied(memory []byte) {
	var r schemas.SpoolTally
	r.Load(memory)
	step := t.step()
	if step == nil {
		return
	}
	if id, known := at(t.known.signatures, r.Signature); !known || id == 0 {
		step.lose(1, reasonUndefined)
		return
	}
	if len(step.Tally) >= mostOps {
		step.lose(1, reasonTooMany)
		return
	}
	step.Tally = append(step.Tally, tallied{Signature: r.Signature, Module: r.Module, Count: r.CallCount})
}

// tally hands over the calls of the step. Its rows may have been handed over before: steps with the same calls share
// them.
func (t *translator) tally(step *openStep) error {
	if len(step.Tally) == 0 {
		return nil
	}
	rows, total := t.tallyRows(step.Tally)
	id := schemas.TallyID(rows)
	if !sent(&t.Tallies, id, mostPrograms) {
		for i := range rows {
			rows[i].TallyID = id
			if err := add(t.out, t.out.tally, &rows[i], len(rows[i].ModulePath)); err != nil {
				return err
			}
		}
	}
	row := schemas.CallRow{
		RunID: t.out.id.RunID, Rank: t.out.id.Rank, Epoch: t.out.id.Epoch, EventTimeNs: t.TimeNs,
		Step: step.Number, TallyID: id, CallCount: total,
	}
	return measure(t.out, t.out.call, &t.out.rows, &row, 0)
}

func (t *translator) tallyRows(calls []tallied) (rows []schemas.TallyRow, total uint64) {
	rows = make([]schemas.TallyRow, len(calls))
	for i, c := range calls {
		rows[i] = schemas.TallyRow{Position: uint32(i), CallCount: c.Count} //nolint:gosec // at most mostOps
		rows[i].SignatureID, _ = at(t.known.signatures, c.Signature)
		rows[i].ModulePath, _ = at(t.known.texts, c.Module)
		total += c.Count
	}
	return rows, total
}

// doing describes, in words, the work of a process that died. Ask before its step is closed.
func (t *translator) doing(last *sign) string {
	if t.Step == nil && !t.Adrift && last.Step < t.Next {
		return fmt.Sprintf("no step that is recorded was under way when the process ended without a word: this op, the last one seen, was over with step %d, %v before the last sign of life",
			last.Step, between(t.TimeNs, last.TimeNs))
	}
	text := "the process ended without a word while this op ran, or just after it"
	if since := between(last.SinceNs, last.TimeNs); since >= time.Second { // signs of life come once a second
		text += fmt.Sprintf("; it began %v before the last sign of life", since)
	}
	return text
}

func between(fromNs, toNs int64) time.Duration {
	return max(0, time.Duration(toNs-fromNs)).Round(100 * time.Millisecond)
}

// diedIn returns the call under way, or else the last one, of a dead process whose ops were counted.
func (t *translator) diedIn(last *sign, doing string) error {
	call, _ := at(t.known.calls, last.Call)
	if last.State != heartDied || call.op == 0 || call.op != last.Op {
		return nil
	}
	row := schemas.FailureRow{
		RunID: t.out.id.RunID, Rank: t.out.id.Rank, Epoch: t.out.id.Epoch, EventTimeNs: last.SinceNs,
		Step: last.Step, Type: "process died", Message: doing,
		Inputs: call.inputs, ModulePath: call.path,
	}
	row.OpID, _ = at(t.known.ops, call.op)
	return measure(t.out, t.out.failure, &t.out.rows, &row, len(row.Inputs))
}
