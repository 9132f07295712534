package msprobe

import (
	"context"
	"errors"

	"github.com/tensortap/tensortap/producers/internal/batch"
	"github.com/tensortap/tensortap/schemas"
)

// errStopped ends the reading when the caller wants no more batches.
var errStopped = errors.New("stopped by the caller")

// emitter collects rows of every kind and hands over full batches. Definitions go before the measurements that refer
// to them. The fields are one batch under way per kind.
type emitter struct {
	done  <-chan struct{}
	cause func() error
	yield func(schemas.Message, error) bool
	id    schemas.Identity
	limit int

	rank         *batch.Batch[schemas.RankRow, *schemas.RankRow]
	op           *batch.Batch[schemas.OpRow, *schemas.OpRow]
	site         *batch.Batch[schemas.SiteRow, *schemas.SiteRow]
	layout       *batch.Batch[schemas.LayoutRow, *schemas.LayoutRow]
	stack        *batch.Batch[schemas.StackRow, *schemas.StackRow]
	program      *batch.Batch[schemas.ProgramRow, *schemas.ProgramRow]
	programStack *batch.Batch[schemas.ProgramStackRow, *schemas.ProgramStackRow]
	step         *batch.Batch[schemas.StepRow, *schemas.StepRow]
	tensor       *batch.Batch[schemas.TensorRow, *schemas.TensorRow]
	payload      *batch.Batch[schemas.PayloadRow, *schemas.PayloadRow]
}

func newEmitter(ctx context.Context, id schemas.Identity, limit int, yield func(schemas.Message, error) bool) *emitter {
	return &emitter{
		done: ctx.Done(), cause: func() error { return context.Cause(ctx) }, yield: yield, id: id, limit: limit,
		rank: batch.New[schemas.RankRow](), op: batch.New[schemas.OpRow](), site: batch.New[schemas.SiteRow](),
		layout: batch.New[schemas.LayoutRow](), stack: batch.New[schemas.StackRow](),
		program: batch.New[schemas.ProgramRow](), programStack: batch.New[schemas.ProgramStackRow](),
		step: batch.New[schemas.StepRow](), tensor: batch.New[schemas.TensorRow](), payload: batch.New[schemas.PayloadRow](),
	}
}

// part is the batch of one kind.
type part interface {
	Len() int
	Message(id schemas.Identity) (schemas.Message, error)
}

// flush hands over those batches that hold rows.
func (e *emitter) flush(parts ...part) error {
	for _, p := range parts {
		if p.Len() == 0 {
			continue
		}
		select {
		case <-e.done:
			return e.cause()
		default:
		}
		message, err := p.Message(e.id)
		if err != nil {
			return err
		}
		if !e.yield(message, nil) {
			return errStopped
		}
	}
	return nil
}

// add appends a definition with that many bytes of text, and hands the batch over when it is full.
func add[R any, P schemas.Row[R]](e *emitter, b *batch.Batch[R, P], row *R, text int) error {
	b.Append(row, text)
	if b.Full(e.limit) {
		return e.flush(b)
	}
	return nil
}

// afterDefinitions hands over a batch behind those that its rows refer to.
func (e *emitter) afterDefinitions(measured part) error {
	return e.flush(e.rank, e.stack, e.op, e.layout, e.site, measured)
}

// rest hands over everything, the step last.
func (e *emitter) rest() error {
	return e.flush(e.rank, e.stack, e.op, e.layout, e.site, e.tensor, e.payload, e.program, e.programStack, e.step)
}

// addTensor appends a row of tensor; a full batch goes first, behind the definitions of its rows.
func (e *emitter) addTensor(row *schemas.TensorRow) error {
	row.Batch = e.tensor.Number()
	e.tensor.Append(row, 0)
	if !e.tensor.Full(e.limit) {
		return nil
	}
	return e.afterDefinitions(e.tensor)
}

// addPayload appends a row of payload, likewise.
func (e *emitter) addPayload(row *schemas.PayloadRow) error {
	row.Batch = e.payload.Number()
	e.payload.Append(row, len(row.Location))
	if !e.payload.Full(e.limit) {
		return nil
	}
	return e.afterDefinitions(e.payload)
}
