// Package batch gathers the rows of one kind into messages, for every producer.
package batch

import "github.com/tensortap/tensortap/schemas"

// mostText bounds the text in a batch, so that no message exceeds the limit of a stream.
const mostText = 2 << 20

// Batch is the rows of one kind that are not yet handed over. Batches are numbered from 0 without gaps. It is not safe
// for use by several goroutines.
type Batch[R any, P schemas.Row[R]] struct {
	rows   *schemas.Builder[R, P] // nil where rows are not packed
	take   func(*R)               // receivers of rows that are not packed; nil for kinds without one
	number uint64
	text   int
	day    int64 // of the rows under way
}

// New returns the empty batch 0, as New[schemas.TensorRow]().
func New[R any, P schemas.Row[R]]() *Batch[R, P] {
	return &Batch[R, P]{rows: schemas.NewBuilder[R, P]()}
}

func direct[R any, P schemas.Row[R]](take func(*R)) *Batch[R, P] { return &Batch[R, P]{take: take} }

// Number is the number of the batch under way.
func (b *Batch[R, P]) Number() uint64 { return b.number }

// SetNumber goes on from another start. The batch must be empty.
func (b *Batch[R, P]) SetNumber(number uint64) { b.number = number }

// Kind is the kind of its rows.
func (b *Batch[R, P]) Kind() string { return P(nil).Table().Kind() }

// Len is the number of rows under way.
func (b *Batch[R, P]) Len() int {
	if b.rows == nil {
		return 0
	}
	return b.rows.Len()
}

// Append adds a row with that many bytes of text; a measurement is given the batch's number. The rows of another UTC day are
// handed over first: no batch of measurements spans two.
func (b *Batch[R, P]) Append(row *R, text int, hand func() error) error {
	if b.rows == nil {
		if b.take != nil {
			b.take(row)
		}
		return nil
	}
	day := schemas.Place[R, P](row, b.number)
	if b.Len() > 0 && day != b.day {
		if err := hand(); err != nil {
			return err
		}
		schemas.Place[R, P](row, b.number)
	}
	b.rows.Append(row)
	b.text, b.day = b.text+text, day
	return nil
}

// Full says whether the batch must go before another row is added.
func (b *Batch[R, P]) Full(limit int) bool { return b.Len() >= limit || b.text >= mostText }

// Message packs the rows, at least one, under the identity, and begins the next batch.
func (b *Batch[R, P]) Message(id schemas.Identity) (schemas.Message, error) {
	id.Batch = b.number
	message, err := b.rows.Message(id)
	if err == nil {
		b.number++
		b.text = 0
	}
	return message, err
}
