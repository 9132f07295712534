package batch

import (
	"context"
	"errors"
	"iter"
	"math"

	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/schemas"
)

// ErrStopped ends the reading when the caller wants no more batches.
var ErrStopped = errors.New("stopped by the caller")

// Set is one batch under way for each kind of rows that the files of a tool become. It hands over full batches, and
// definitions before the measurements that refer to them.
type Set struct {
	done  <-chan struct{}
	cause func() error
	yield func(schemas.Message, error) bool
	limit int

	ID           schemas.Identity // of all rows
	Rank         *Batch[schemas.RankRow, *schemas.RankRow]
	Op           *Batch[schemas.OpRow, *schemas.OpRow]
	Site         *Batch[schemas.SiteRow, *schemas.SiteRow]
	Layout       *Batch[schemas.LayoutRow, *schemas.LayoutRow]
	Stack        *Batch[schemas.StackRow, *schemas.StackRow]
	Program      *Batch[schemas.ProgramRow, *schemas.ProgramRow]
	ProgramStack *Batch[schemas.ProgramStackRow, *schemas.ProgramStackRow]
	Signature    *Batch[schemas.SignatureRow, *schemas.SignatureRow]
	Tally        *Batch[schemas.TallyRow, *schemas.TallyRow]
	Step         *Batch[schemas.StepRow, *schemas.StepRow]
	Collective   *Batch[schemas.CollectiveRow, *schemas.CollectiveRow]
	Log          *Batch[schemas.LogRow, *schemas.LogRow]
	Metric       *Batch[schemas.MetricRow, *schemas.MetricRow]
	Allocation   *Batch[schemas.AllocationRow, *schemas.AllocationRow]
	RequestEvent *Batch[schemas.RequestEventRow, *schemas.RequestEventRow]
	Memory       *Batch[schemas.MemoryRow, *schemas.MemoryRow]
	Request      *Batch[schemas.RequestRow, *schemas.RequestRow]
	tensor       *Batch[schemas.TensorRow, *schemas.TensorRow]
	payload      *Batch[schemas.PayloadRow, *schemas.PayloadRow]
	call         *Batch[schemas.CallRow, *schemas.CallRow]
	failure      *Batch[schemas.FailureRow, *schemas.FailureRow]
}

// NewSet returns a set that yields batches of at most limit rows until ctx ends.
func NewSet(ctx context.Context, id schemas.Identity, limit int, yield func(schemas.Message, error) bool) *Set {
	return &Set{
		done: ctx.Done(), cause: func() error { return context.Cause(ctx) }, yield: yield, ID: id, limit: limit,
		Rank: New[schemas.RankRow](), Op: New[schemas.OpRow](), Site: New[schemas.SiteRow](),
		Layout: New[schemas.LayoutRow](), Stack: New[schemas.StackRow](),
		Program: New[schemas.ProgramRow](), ProgramStack: New[schemas.ProgramStackRow](),
		Signature: New[schemas.SignatureRow](), Tally: New[schemas.TallyRow](),
		Step: New[schemas.StepRow](), tensor: New[schemas.TensorRow](), payload: New[schemas.PayloadRow](),
		call: New[schemas.CallRow](), failure: New[schemas.FailureRow](),
		Collective:   New[schemas.CollectiveRow](),
		Log:          New[schemas.LogRow](),
		Metric:       New[schemas.MetricRow](),
		Allocation:   New[schemas.AllocationRow](),
		RequestEvent: New[schemas.RequestEventRow](),
		Memory:       New[schemas.MemoryRow](),
		Request:      New[schemas.RequestRow](),
	}
}

// Messages are what read puts into a set of such batches. An error ends them. Each range over them begins anew, by the
// identity of that moment.
func Messages(ctx context.Context, id func() schemas.Identity, limit int, read func(context.Context, *Set) error) iter.Seq2[schemas.Message, error] {
	return func(yield func(schemas.Message, error) bool) {
		err := read(ctx, NewSet(ctx, id(), limit, yield))
		if err != nil && !errors.Is(err, ErrStopped) {
			yield(schemas.Message{}, err)
		}
	}
}

// NewDirect returns a set that packs nothing: rows go straight to the receiver of their kind.
func NewDirect(id schemas.Identity, to *producers.Rows) *Set {
	return &Set{
		ID: id, limit: math.MaxInt, Rank: direct(to.Rank), Op: direct(to.Op), Site: direct(to.Site),
		Layout: direct(to.Layout), Stack: direct(to.Stack), Program: direct(to.Program),
		ProgramStack: direct(to.ProgramStack), Signature: direct(to.Signature), Tally: direct(to.Tally), Step: direct(to.Step),
		tensor: direct(to.Tensor), payload: direct(to.Payload), call: direct(to.Call), failure: direct(to.Failure),
		Collective:   direct[schemas.CollectiveRow](nil),
		Log:          direct(to.Log),
		Metric:       direct(to.Metric),
		Allocation:   direct[schemas.AllocationRow](nil),
		RequestEvent: direct(to.RequestEvent),
		Memory:       direct[schemas.MemoryRow](nil),
		Request:      direct[schemas.RequestRow](nil),
	}
}

// part is the batch of one kind.
type part interface {
	Len() int
	Message(id schemas.Identity) (schemas.Message, error)
}

// flush hands over those batches that hold rows.
func (s *Set) flush(parts ...part) error {
	for _, p := range parts {
		if p.Len() == 0 {
			continue
		}
		select {
		case <-s.done:
			return s.cause()
		default:
		}
		message, err := p.Message(s.ID)
		if err != nil {
			return err
		}
		if !s.yield(message, nil) {
			return ErrStopped
		}
	}
	return nil
}

// Add appends a definition with that many bytes of text, and hands the batch over when it is full.
func Add[R any, P schemas.Row[R]](s *Set, b *Batch[R, P], row *R, text int) error {
	hand := func() error { return s.flush(b) }
	if err := b.Append(row, text, hand); err != nil || !b.Full(s.limit) {
		return err
	}
	return hand()
}

// afterDefinitions hands over a batch behind those that its rows refer to.
func (s *Set) afterDefinitions(measured part) error {
	return s.flush(s.Rank, s.Stack, s.Op, s.Layout, s.Site, s.Signature, s.Tally, measured)
}

// Rest hands over everything, the step last.
func (s *Set) Rest() error {
	return s.flush(s.Rank, s.Stack, s.Op, s.Layout, s.Site, s.tensor, s.payload, s.Program, s.ProgramStack,
		s.Signature, s.Tally, s.call, s.failure, s.Collective, s.Log, s.Metric, s.Allocation, s.RequestEvent, s.Memory, s.Request, s.Step)
}

// AddStack appends a call stack, and returns its id; 0 for one without frames.
func (s *Set) AddStack(frames []string) (uint64, error) {
	if len(frames) == 0 {
		return 0, nil
	}
	row, text := schemas.StackRow{StackID: schemas.StackID(frames), Frames: frames}, 0
	for _, frame := range frames {
		text += len(frame)
	}
	return row.StackID, Add(s, s.Stack, &row, text)
}

// AddMeasured appends a measurement, and numbers it, with that many bytes of text; a full batch, or one of another day, goes behind the
// definitions of its rows.
func AddMeasured[R any, P schemas.Row[R]](s *Set, b *Batch[R, P], row *R, text int) error {
	hand := func() error { return s.afterDefinitions(b) }
	if err := b.Append(row, text, hand); err != nil || !b.Full(s.limit) {
		return err
	}
	return hand()
}

// AddTensor appends a row of tensor; a full batch goes first, behind the definitions of its rows.
func (s *Set) AddTensor(row *schemas.TensorRow) error {
	return AddMeasured(s, s.tensor, row, 0)
}

// WantsPayloads says whether anybody takes rows of payload.
func (s *Set) WantsPayloads() bool { return s.payload.rows != nil || s.payload.take != nil }

// AddPayload appends a row of payload.
func (s *Set) AddPayload(row *schemas.PayloadRow) error {
	return AddMeasured(s, s.payload, row, len(row.Location))
}

// AddCall appends a row of call.
func (s *Set) AddCall(row *schemas.CallRow) error {
	return AddMeasured(s, s.call, row, 0)
}

// AddFailure appends a row of failure.
func (s *Set) AddFailure(row *schemas.FailureRow) error {
	return AddMeasured(s, s.failure, row, len(row.Inputs)+len(row.Message))
}
