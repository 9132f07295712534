package system

import (
	"context"
	"errors"

	"github.com/tensortap/tensortap/schemas"
)

// together hands the messages of a kind to a store at once, in the order in which they came.
type together struct {
	to    func(context.Context, []schemas.Message) error
	most  int                                     // bytes that are held at most
	told  func(m schemas.Message, refusal string) // of each message: the refusal is empty where the store took it
	held  map[string][]schemas.Message            // by kind
	bytes int
}

func (h *together) add(ctx context.Context, m schemas.Message) error {
	if h.held == nil {
		h.held = map[string][]schemas.Message{}
	}
	h.held[m.Header.Kind] = append(h.held[m.Header.Kind], m)
	if h.bytes += len(m.Data); h.bytes < h.most {
		return nil
	}
	return h.flush(ctx)
}

// flush hands over all that is held.
func (h *together) flush(ctx context.Context) error {
	for kind, messages := range h.held {
		err := h.to(ctx, messages)
		rejected := new(schemas.RejectedError)
		if err != nil && !errors.As(err, &rejected) {
			return err
		}
		for i, m := range messages {
			h.told(m, rejected.Reasons[i])
		}
		delete(h.held, kind)
	}
	h.bytes = 0
	return nil
}
