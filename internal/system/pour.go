package system

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// pouredBytes is how much of one kind is stored at once.
const pouredBytes = 16 << 20

// pour brings messages to a store.
type pour struct {
	into    together
	wanted  *schemas.Ledger // less what was stored
	stored  *schemas.Ledger
	refused []string
}

func newPour(to func(context.Context, []schemas.Message) error, wanted *schemas.Ledger) *pour {
	p := &pour{wanted: wanted, stored: schemas.NewLedger()}
	p.into = together{to: to, most: pouredBytes, told: p.note}
	return p
}

// whole leaves out the files that cannot be read: who took the account has named them.
func whole(messages iter.Seq2[schemas.Message, error]) iter.Seq2[schemas.Message, error] {
	return func(yield func(schemas.Message, error) bool) {
		for m, err := range messages {
			if err == nil && !yield(m, nil) {
				return
			}
		}
	}
}

// fill stores those of the messages that are wanted.
func (p *pour) fill(ctx context.Context, from iter.Seq2[schemas.Message, error]) error {
	if p.wanted.Count() == 0 {
		return nil
	}
	for m, err := range from {
		if errors.Is(err, pipelines.ErrUnreadable) {
			continue // named, too
		}
		if err := errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		if !p.wanted.Has(schemas.BatchOf(m.Header.Kind, m.Header.Identity)) {
			continue
		}
		if err := p.into.add(ctx, m); err != nil {
			return err
		}
	}
	return p.into.flush(ctx)
}

// note keeps in mind what became of a message.
func (p *pour) note(m schemas.Message, refusal string) {
	batch := schemas.BatchOf(m.Header.Kind, m.Header.Identity)
	if refusal != "" {
		p.refused = append(p.refused, fmt.Sprintf("%v was refused: %s", batch, refusal))
		return
	}
	p.stored.Add(batch)
	p.wanted.Remove(batch)
}
