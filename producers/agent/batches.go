package agent

import (
	"slices"

	"github.com/tensortap/tensortap/producers/internal/batch"
	"github.com/tensortap/tensortap/schemas"
)

const dayNs = 24 * 60 * 60 * 1_000_000_000

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

// measured is a batch of measurements, which never spans two UTC days.
type measured[R any, P schemas.Row[R]] struct {
	*batch.Batch[R, P]

	day int64
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

	tensor    measured[schemas.TensorRow, *schemas.TensorRow]
	memory    measured[schemas.MemoryRow, *schemas.MemoryRow]
	failure   measured[schemas.FailureRow, *schemas.FailureRow]
	call      measured[schemas.CallRow, *schemas.CallRow]
	unseen    measured[schemas.UnseenRow, *schemas.UnseenRow]
	payload   measured[schemas.PayloadRow, *schemas.PayloadRow]
	request   measured[schemas.RequestRow, *schemas.RequestRow]
	heartbeat measured[schemas.HeartbeatRow, *schemas.HeartbeatRow]

	collective measured[schemas.CollectiveRow, *schemas.CollectiveRow]
	token      measured[schemas.TokenRow, *schemas.TokenRow]
	weight     measured[schemas.WeightRow, *schemas.WeightRow]
	tokenSite  measured[schemas.TokenSiteRow, *schemas.TokenSiteRow]

	step measured[schemas.StepRow, *schemas.StepRow]

	definitions, rows, steps []schemas.Message // handed over in this order
}

func newMeasured[R any, P schemas.Row[R]]() measured[R, P] {
	return measured[R, P]{Batch: batch.New[R, P]()}
}

func newBatches(id schemas.Identity, limit int) *batches {
	return &batches{
		id: id, limit: limit,
		run: batch.New[schemas.RunRow](), rank: batch.New[schemas.RankRow](), stack: batch.New[schemas.StackRow](),
		op: batch.New[schemas.OpRow](), layout: batch.New[schemas.LayoutRow](), site: batch.New[schemas.SiteRow](),
		program: batch.New[schemas.ProgramRow](), programStack: batch.New[schemas.ProgramStackRow](),
		signature: batch.New[schemas.SignatureRow](), tally: batch.New[schemas.TallyRow](), call: newMeasured[schemas.CallRow](),
		tensor: newMeasured[schemas.TensorRow](), memory: newMeasured[schemas.MemoryRow](),
		failure: newMeasured[schemas.FailureRow](), unseen: newMeasured[schemas.UnseenRow](),
		heartbeat: newMeasured[schemas.HeartbeatRow](), collective: newMeasured[schemas.CollectiveRow](), request: newMeasured[schemas.RequestRow](), payload: newMeasured[schemas.PayloadRow](), step: newMeasured[schemas.StepRow](),
		token: newMeasured[schemas.TokenRow](), weight: newMeasured[schemas.WeightRow](), tokenSite: newMeasured[schemas.TokenSiteRow](),
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
	to.Append(row, text)
	if to.Full(b.limit) {
		return b.pack(&b.definitions, to)
	}
	return nil
}

// measure appends a measurement of that time. number is the row's own column, which is filled in.
func measure[R any, P schemas.Row[R]](b *batches, to *measured[R, P], group *[]schemas.Message, timeNs int64, number *uint64, row *R, text int) error {
	if b.muted {
		return nil
	}
	day := floorDay(timeNs)
	if to.Len() > 0 && (day != to.day || to.Full(b.limit)) {
		if err := b.pack(group, to); err != nil {
			return err
		}
	}
	to.day = day
	*number = to.Number()
	to.Append(row, text)
	return nil
}

func floorDay(timeNs int64) int64 {
	day := timeNs / dayNs
	if timeNs < 0 && timeNs%dayNs != 0 {
		day--
	}
	return day
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
