package agent

import (
	"slices"

	"github.com/tensortap/tensortap/producers/internal/batch"
	"github.com/tensortap/tensortap/schemas"
)

// part is the batch of one kind.
type part interface {
	numbered
	packer
}

type numbered interface {
	Kind() string
	Number() uint64
	SetNumber(number uint64)
}

type packer interface {
	Len() int
	Message(id schemas.Identity) (schemas.Message, error)
}

// batches gathers the rows of a window into messages.
type batches struct {
	id    schemas.Identity
	limit int  // rows of a batch
	muted bool // rows are not wanted: the window was published before

	run          *batch.Batch[schemas.RunRow, *schemas.RunRow]
	rank         *batch.Batch[schemas.RankRow, *schemas.RankRow]
	stack        *batch.Batch[schemas.StackRow, *schemas.StackRow]
	op           *batch.Batch[schemas.OpRow, *schemas.OpRow]
	layout       *batch.Batch[schemas.LayoutRow, *schemas.LayoutRow]
	site         *batch.Batch[schemas.SiteRow, *schemas.SiteRow]
	program      *batch.Batch[schemas.ProgramRow, *schemas.ProgramRow]
	programStack *batch.Batch[schemas.ProgramStackRow, *schemas.ProgramStackRow]
	signature    *batch.Batch[schemas.SignatureRow, *schemas.SignatureRow]
	tally        *batch.Batch[schemas.TallyRow, *schemas.TallyRow]

	tensor    *batch.Batch[schemas.TensorRow, *schemas.TensorRow]
	memory    *batch.Batch[schemas.MemoryRow, *schemas.MemoryRow]
	failure   *batch.Batch[schemas.FailureRow, *schemas.FailureRow]
	call      *batch.Batch[schemas.CallRow, *schemas.CallRow]
	unseen    *batch.Batch[schemas.UnseenRow, *schemas.UnseenRow]
	payload   *batch.Batch[schemas.PayloadRow, *schemas.PayloadRow]
	request   *batch.Batch[schemas.RequestRow, *schemas.RequestRow]
	heartbeat *batch.Batch[schemas.HeartbeatRow, *schemas.HeartbeatRow]

	collective *batch.Batch[schemas.CollectiveRow, *schemas.CollectiveRow]
	token      *batch.Batch[schemas.TokenRow, *schemas.TokenRow]
	weight     *batch.Batch[schemas.WeightRow, *schemas.WeightRow]
	tokenSite  *batch.Batch[schemas.TokenSiteRow, *schemas.TokenSiteRow]

	step *batch.Batch[schemas.StepRow, *schemas.StepRow]

	definitions, rows, steps []schemas.Message // handed over in this order
}

func newBatches(id schemas.Identity, limit int) *batches {
	return &batches{
		id: id, limit: limit,
		run: batch.New[schemas.RunRow](), rank: batch.New[schemas.RankRow](), stack: batch.New[schemas.StackRow](),
		op: batch.New[schemas.OpRow](), layout: batch.New[schemas.LayoutRow](), site: batch.New[schemas.SiteRow](),
		program: batch.New[schemas.ProgramRow](), programStack: batch.New[schemas.ProgramStackRow](),
		signature: batch.New[schemas.SignatureRow](), tally: batch.New[schemas.TallyRow](), call: batch.New[schemas.CallRow](),
		tensor: batch.New[schemas.TensorRow](), memory: batch.New[schemas.MemoryRow](),
		failure: batch.New[schemas.FailureRow](), unseen: batch.New[schemas.UnseenRow](),
		heartbeat: batch.New[schemas.HeartbeatRow](), collective: batch.New[schemas.CollectiveRow](), request: batch.New[schemas.RequestRow](), payload: batch.New[schemas.PayloadRow](), step: batch.New[schemas.StepRow](),
		token: batch.New[schemas.TokenRow](), weight: batch.New[schemas.WeightRow](), tokenSite: batch.New[schemas.TokenSiteRow](),
	}
}

// parts lists the batches in three groups: definitions, measurements, and the steps that sum those up.
func (b *batches) parts() (definitions, rows, steps []part) {
	return []part{b.run, b.rank, b.stack, b.op, b.layout, b.site, b.program, b.programStack, b.signature, b.tally},
		[]part{b.tensor, b.memory, b.failure, b.unseen, b.call, b.request, b.heartbeat, b.payload, b.collective, b.token, b.weight, b.tokenSite}, []part{b.step}
}

// numbers is the next batch of every kind.
func (b *batches) numbers() map[string]uint64 {
	numbers := map[string]uint64{}
	for _, p := range slices.Concat(b.parts()) {
		numbers[p.Kind()] = p.Number()
	}
	return numbers
}

func (b *batches) setNumbers(numbers map[string]uint64) {
	for _, p := range slices.Concat(b.parts()) {
		p.SetNumber(numbers[p.Kind()])
	}
}

// add appends a definition with that many bytes of text.
func add[R any, P schemas.Row[R]](b *batches, to *batch.Batch[R, P], row *R, text int) error {
	if b.muted {
		return nil
	}
	hand := func() error { return b.pack(&b.definitions, to) }
	if err := to.Append(row, text, hand); err != nil || !to.Full(b.limit) {
		return err
	}
	return hand()
}

// measure appends a measurement, and numbers it.
func measure[R any, P schemas.Row[R]](b *batches, to *batch.Batch[R, P], group *[]schemas.Message, row *R, text int) error {
	if b.muted {
		return nil
	}
	hand := func() error { return b.pack(group, to) }
	if to.Full(b.limit) {
		if err := hand(); err != nil {
			return err
		}
	}
	return to.Append(row, text, hand)
}

func (b *batches) pack(group *[]schemas.Message, p packer) error {
	message, err := p.Message(b.id)
	if err == nil {
		*group = append(*group, message)
	}
	return err
}

// take is the messages of all rows since the last call.
func (b *batches) take() ([]schemas.Message, error) {
	definitions, rows, steps := b.parts()
	for _, group := range []struct {
		parts []part
		to    *[]schemas.Message
	}{{definitions, &b.definitions}, {rows, &b.rows}, {steps, &b.steps}} {
		for _, p := range group.parts {
			if p.Len() == 0 {
				continue
			}
			if err := b.pack(group.to, p); err != nil {
				return nil, err
			}
		}
	}
	messages := append(append(b.definitions, b.rows...), b.steps...)
	b.definitions, b.rows, b.steps = nil, nil, nil
	return messages, nil
}
