package msprobe

import (
	"context"
	"errors"

	"github.com/tensortap/tensortap/schemas"
)

// errStopped ends the reading when the caller wants no more batches.
var errStopped = errors.New("stopped by the caller")

// maxBatchText bounds the text in a batch, so that no message exceeds what a stream takes.
const maxBatchText = 2 << 20

// emitter collects rows of every kind and hands over full batches. Definitions go before the measurements that refer
// to them. The fields are one batch under way per kind.
type emitter struct {
	done  <-chan struct{}
	cause func() error
	yield func(schemas.Message, error) bool
	id    schemas.Identity
	limit int

	rank         batch[schemas.RankRow, *schemas.RankRow]
	op           batch[schemas.OpRow, *schemas.OpRow]
	site         batch[schemas.SiteRow, *schemas.SiteRow]
	layout       batch[schemas.LayoutRow, *schemas.LayoutRow]
	stack        batch[schemas.StackRow, *schemas.StackRow]
	program      batch[schemas.ProgramRow, *schemas.ProgramRow]
	programStack batch[schemas.ProgramStackRow, *schemas.ProgramStackRow]
	step         batch[schemas.StepRow, *schemas.StepRow]
	tensor       batch[schemas.TensorRow, *schemas.TensorRow]
	payload      batch[schemas.PayloadRow, *schemas.PayloadRow]
}

// batch is the rows of one kind that are not yet handed over.
type batch[R any, P schemas.Row[R]] struct {
	rows   *schemas.Builder[R, P]
	number uint64
	text   int
}

func newBatch[R any, P schemas.Row[R]]() batch[R, P] {
	return batch[R, P]{rows: schemas.NewBuilder[R, P]()}
}

func newEmitter(ctx context.Context, id schemas.Identity, limit int, yield func(schemas.Message, error) bool) *emitter {
	return &emitter{
		done: ctx.Done(), cause: func() error { return context.Cause(ctx) }, yield: yield, id: id, limit: limit,
		rank: newBatch[schemas.RankRow](), op: newBatch[schemas.OpRow](), site: newBatch[schemas.SiteRow](),
		layout: newBatch[schemas.LayoutRow](), stack: newBatch[schemas.StackRow](),
		program: newBatch[schemas.ProgramRow](), programStack: newBatch[schemas.ProgramStackRow](),
		step: newBatch[schemas.StepRow](), tensor: newBatch[schemas.TensorRow](), payload: newBatch[schemas.PayloadRow](),
	}
}

// full tells whether the batch must go before another row is added.
func (b *batch[R, P]) full(limit int) bool { return b.rows.Len() >= limit || b.text >= maxBatchText }

// flush hands the batch over if it holds rows.
func (b *batch[R, P]) flush(e *emitter) error {
	if b.rows.Len() == 0 {
		return nil
	}
	select {
	case <-e.done:
		return e.cause()
	default:
	}
	id := e.id
	id.Batch = b.number
	message, err := b.rows.Message(id)
	if err != nil {
		return err
	}
	b.number++
	b.text = 0
	if !e.yield(message, nil) {
		return errStopped
	}
	return nil
}

// add appends a definition with that many bytes of text, and hands the batch over when it is full.
func (b *batch[R, P]) add(e *emitter, row *R, text int) error {
	b.rows.Append(row)
	b.text += text
	if b.full(e.limit) {
		return b.flush(e)
	}
	return nil
}

// definitions hands over what measurements about to follow refer to.
func (e *emitter) definitions() error {
	return firstFailure(e, e.rank.flush, e.stack.flush, e.op.flush, e.layout.flush, e.site.flush)
}

// rest hands over everything, the step last.
func (e *emitter) rest() error {
	return firstFailure(e, e.rank.flush, e.stack.flush, e.op.flush, e.layout.flush, e.site.flush, e.tensor.flush,
		e.payload.flush, e.program.flush, e.programStack.flush, e.step.flush)
}

func firstFailure(e *emitter, flushes ...func(*emitter) error) error {
	for _, flush := range flushes {
		if err := flush(e); err != nil {
			return err
		}
	}
	return nil
}

// addTensor appends a row of tensor; a full batch goes first, behind the definitions of its rows.
func (e *emitter) addTensor(row *schemas.TensorRow) error {
	row.Batch = e.tensor.number
	e.tensor.rows.Append(row)
	if !e.tensor.full(e.limit) {
		return nil
	}
	return firstFailure(e, (*emitter).definitions, e.tensor.flush)
}

// addPayload appends a row of payload, likewise.
func (e *emitter) addPayload(row *schemas.PayloadRow) error {
	row.Batch = e.payload.number
	e.payload.rows.Append(row)
	e.payload.text += len(row.Location)
	if !e.payload.full(e.limit) {
		return nil
	}
	return firstFailure(e, (*emitter).definitions, e.payload.flush)
}
