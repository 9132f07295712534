package agent

import (
	"math"

	"github.com/tensortap/tensortap/schemas"
)

// Reasons for records without rows, as rows of step give them.
const (
	reasonFull      = "the spool was full, or a write to it failed"
	reasonUndefined = "a definition could not be read"
	reasonDamaged   = "the checksum of a record was wrong"
	reasonAdrift    = "the record that their step begins was given up or dropped"
	reasonUnwritten = "records were reserved and never written"
	reasonGivenUp   = "records were given up, as no agent read them"
	reasonMissing   = "a segment of the spool was missing or cut short"
	reasonTooMany   = "more ops in one step than a program holds"
)

// translator turns records into rows. Its output depends on its state, the catalogue and the records alone.
type translator struct {
	*state

	generation uint32
	first      uint32 // number of the process's step 0
	known      *catalogue
	out        *batches
	from       *segments
	counts     *Counts

	// Rows are filled here, since a builder takes a pointer and the row would be allocated each time.
	tensorRow schemas.TensorRow
	sketch    [16]float32
}

// record translates the record of that kind at the position and returns how many records it took.
func (t *translator) record(position uint64, kind uint32) (uint64, error) {
	memory, err := t.from.record(position)
	if err != nil {
		return 0, err
	}
	if kind == damaged {
		return 1, t.damaged()
	}
	t.Damaged = false
	switch kind {
	case schemas.SpoolOpKind:
		t.op(memory)
	case schemas.SpoolTensorKind:
		return t.tensor(position, memory)
	case schemas.SpoolNumberKind:
		return 1, t.number(position, memory)
	case schemas.SpoolStepKind:
		return 1, t.stepRecord(memory)
	case schemas.SpoolMemoryKind:
		return 1, t.memory(position, memory)
	case schemas.SpoolComponentKind:
		return 1, t.component(position, memory)
	case schemas.SpoolFailureKind:
		return 1, t.failure(memory)
	case schemas.SpoolUnseenKind:
		return 1, t.unseen(memory)
	case schemas.SpoolRequestKind:
		return 1, t.request(position, memory)
	case schemas.SpoolCollectiveKind:
		return 1, t.collective(position, memory)
	case schemas.SpoolSequenceKind:
		t.sequence(memory)
	case schemas.SpoolTokensKind:
		return 1, t.tokens(position, memory)
	case schemas.SpoolTokenSitesKind:
		return 1, t.tokenSites(memory)
	case schemas.SpoolWeightKind:
		return 1, t.weight(position, memory)
	case schemas.SpoolTallyKind:
		t.tallied(memory)
	case schemas.SpoolPayloadKind:
		return 1, t.payload(memory)
	}
	return 1, nil // padding; extensions of a tensor that was never written
}

// step is the step under way, nil when the record belongs to no known step: the record is counted. Before the first
// step begins, records belong to it.
func (t *translator) step() *openStep {
	if t.Step == nil && (t.Adrift || t.Next > 0) {
		t.Adrift = true
		t.AdriftCount++
		return nil
	}
	if t.Step == nil {
		t.Step = newStep(t.first)
	}
	return t.Step
}

// stepNumber is the step under way or, between steps, the last one.
func (t *translator) stepNumber() uint32 {
	switch {
	case t.Step != nil:
		return t.Step.Number
	case t.Next > 0:
		return t.Next - 1
	}
	return t.first
}

// gap passes over records that are gone. The next ones belong to a step without a known beginning.
func (t *translator) gap(w *window) error {
	why := reasonGivenUp
	if w.Missing {
		why = reasonMissing
	}
	if t.Step != nil {
		t.Step.lose(1, why)
		t.Step.Cut = true
	}
	if err := t.cutShort(); err != nil {
		return err
	}
	t.Adrift = true
	if w.Lost == 0 {
		return nil
	}
	return t.droppedBetween(t.TimeNs, w.Lost, why)
}

// damaged counts a record whose checksum is wrong. Where two follow each other, as in a segment that is not in its place,
// the end of a step and the beginning of the next may be among them: nobody knows which step the next records belong to.
func (t *translator) damaged() error {
	t.counts.Damaged.Add(1)
	second := t.Damaged
	t.Damaged = true
	step := t.step()
	if step == nil {
		return nil
	}
	step.lose(1, reasonDamaged)
	if !second {
		return nil
	}
	step.Cut, t.Adrift = true, true
	return t.cutShort()
}

func (t *translator) op(memory []byte) {
	var r schemas.SpoolOp
	r.Load(memory)
	step := t.step()
	if step == nil {
		return
	}
	t.TimeNs = r.TimeNs
	if id, known := at(t.known.ops, r.Op); !known || id == 0 {
		step.lose(1, reasonUndefined)
		return
	}
	micro := uint16(min(r.MicroStep, math.MaxUint16)) //nolint:gosec // just bounded
	step.op(call{Op: r.Op, Parent: r.Parent, Stack: r.Stack, Seq: r.Seq, Micro: micro, TimeNs: r.TimeNs}, r.Flags)
}

func (t *translator) stepRecord(memory []byte) error {
	var r schemas.SpoolStep
	r.Load(memory)
	r.Step += t.first
	t.TimeNs = r.TimeNs
	if r.Event == schemas.SpoolStepBegins {
		return t.begin(&r)
	}
	return t.end(&r)
}

func (t *translator) begin(r *schemas.SpoolStep) error {
	// Ops just before the first step are part of it.
	if t.Step != nil && (t.Step.BeginNs != nil || t.Step.Number != r.Step) {
		if err := t.cutShort(); err != nil {
			return err
		}
	}
	if t.Step == nil {
		t.Step = newStep(r.Step)
	}
	begin := r.TimeNs
	t.Step.BeginNs = &begin
	t.Step.Phase, _ = at(t.known.texts, r.Phase)
	if t.Adrift {
		// Nobody knows their step: the next one reports them.
		t.Step.lose(t.AdriftCount, reasonAdrift)
		t.Adrift, t.AdriftCount = false, 0
	}
	return nil
}

func (t *translator) end(r *schemas.SpoolStep) error {
	row := schemas.StepRow{Complete: 1}
	end := r.TimeNs
	row.EndTimeNs = &end
	if r.TokenCount > 0 {
		tokens := r.TokenCount - 1
		row.TokenCount = &tokens
	}
	if r.RequestCount > 0 {
		requests := r.RequestCount - 1
		row.RequestCount = &requests
	}
	if r.GlobalStep > 0 {
		global := uint64(r.GlobalStep - 1)
		row.GlobalStep = &global
	}
	step := t.Step
	switch {
	case t.Adrift:
		step = newStep(r.Step)
		step.lose(t.AdriftCount, reasonAdrift)
		step.Cut, row.Complete = true, 0
		t.Adrift, t.AdriftCount = false, 0
	case step == nil:
		step = newStep(r.Step)
	case step.Number != r.Step:
		if err := t.cutShort(); err != nil {
			return err
		}
		step = newStep(r.Step)
	}
	if phase, _ := at(t.known.texts, r.Phase); phase != "" {
		step.Phase = phase
	}
	if missing := r.TensorCount - min(r.TensorCount, step.Tensors+step.Lost); missing > 0 {
		step.lose(missing, reasonUnwritten)
	}
	step.lose(r.DroppedCount, reasonFull)
	t.Dropped += r.DroppedCount
	return t.finish(step, &row)
}

// cutShort ends the step under way as one with an unknown end.
func (t *translator) cutShort() error {
	if t.Step == nil {
		return nil
	}
	t.Step.abandon()
	return t.finish(t.Step, &schemas.StepRow{})
}

// finish hands over the step and its program, and closes it.
func (t *translator) finish(step *openStep, row *schemas.StepRow) error {
	step.abandon()
	if step.Cut && len(step.Done) > 0 {
		step.lose(1, reasonTooMany)
	}
	program, err := t.program(step)
	if err != nil {
		return err
	}
	if err := t.tally(step); err != nil {
		return err
	}
	id := t.out.id
	row.RunID, row.Rank, row.Epoch, row.EventTimeNs = id.RunID, id.Rank, id.Epoch, t.TimeNs
	row.Step, row.Generation, row.BeginTimeNs, row.ProgramID, row.Phase = step.Number, t.generation, step.BeginNs, program, step.Phase
	row.OpCount, row.TensorCount = uint64(len(step.Done)), step.Tensors
	row.DroppedCount, row.DropReason = step.Lost, step.dropReason()
	t.Step, t.Next = nil, step.Number+1
	return measure(t.out, t.out.step, &t.out.steps, row, len(row.DropReason)+len(row.Phase))
}

// program hands over the ops of the step in their order, unless that was done before.
func (t *translator) program(step *openStep) (uint64, error) {
	if step.Cut || len(step.Done) == 0 {
		return 0, nil
	}
	var hasher schemas.ProgramHasher
	for _, c := range step.Done {
		op, parent := t.known.pair(c)
		hasher.Add(op, parent)
	}
	id := hasher.ID()
	if sent(&t.Programs, id, mostPrograms) {
		return id, nil
	}
	for position, c := range step.Done {
		if err := t.position(id, uint32(position), c); err != nil { //nolint:gosec // at most mostOps
			return 0, err
		}
	}
	return id, nil
}

func (t *translator) position(program uint64, position uint32, c call) error {
	op, parent := t.known.pair(c)
	row := schemas.ProgramRow{ProgramID: program, Position: position, OpID: op, ParentOpID: parent}
	if err := add(t.out, t.out.program, &row, 0); err != nil {
		return err
	}
	stack, _ := at(t.known.stacks, c.Stack)
	if stack == 0 {
		return nil
	}
	where := schemas.ProgramStackRow{RunID: t.out.id.RunID, ProgramID: program, Position: position, StackID: stack}
	return add(t.out, t.out.programStack, &where, 0)
}

// pair is the ids of an op and its parent.
func (c *catalogue) pair(of call) (op, parent uint64) {
	op, _ = at(c.ops, of.Op)
	parent, _ = at(c.ops, of.Parent)
	return op, parent
}
