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
	to      func(context.Context, []schemas.Message) error
	wanted  *schemas.Ledger // less what was stored
	stored  *schemas.Ledger
	refused []string

	held  map[string][]schemas.Message // by kind
	bytes int
}

func newPour(to func(context.Context, []schemas.Message) error, wanted *schemas.Ledger) *pour {
	return &pour{to: to, wanted: wanted, stored: schemas.NewLedger(), held: map[string][]schemas.Message{}}
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
		p.held[m.Header.Kind] = append(p.held[m.Header.Kind], m)
		if p.bytes += len(m.Data); p.bytes > pouredBytes {
			if err := p.flush(ctx); err != nil {
				return err
			}
		}
	}
	return p.flush(ctx)
}

func (p *pour) flush(ctx context.Context) error {
	for kind, messages := range p.held {
		err := p.to(ctx, messages)
		rejected := new(schemas.RejectedError)
		if err != nil && !errors.As(err, &rejected) {
			return err
		}
		for i, m := range messages {
			batch := schemas.BatchOf(kind, m.Header.Identity)
			if reason, bad := rejected.Reasons[i]; bad {
				p.refused = append(p.refused, fmt.Sprintf("%v was refused: %s", batch, reason))
				continue
			}
			p.stored.Add(batch)
			p.wanted.Remove(batch)
		}
	}
	clear(p.held)
	p.bytes = 0
	return nil
}
