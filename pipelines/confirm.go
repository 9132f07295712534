package pipelines

import (
	"context"
	"time"
)

// Answers to a consumer about a message.
const (
	acknowledge = "+ACK"
	terminate   = "+TERM"
	progress    = "+WPI"
)

// confirm tells the consumer the outcome of the messages and waits until it knows. The consumer
// reads one connection in order, so its answer to the last stands for all: one round trip for a
// batch of any size.
//
// A lost confirmation is harmless, the messages come again and the sink knows
// them; so confirm gives up when the consumer began a new life, or would have
// delivered them again anyway.
func (d *Delivery) confirm(ctx context.Context, items []*held, verb string) {
	until := d.now().Add(d.cfg.Stream.AckWait)
	again := backoff{least: d.cfg.Deliver.RetryMin, most: d.cfg.Deliver.RetryMax, jitter: d.cfg.Deliver.Jitter}
	for {
		replies := d.current(items)
		d.metrics.unconfirmed.Add(int64(len(items) - len(replies)))
		if len(replies) == 0 {
			return
		}
		if d.tell(ctx, replies, verb) == nil {
			return
		}
		if d.now().After(until) || again.wait(ctx) != nil {
			d.metrics.unconfirmed.Add(int64(len(replies)))
			return
		}
		items = items[len(items)-len(replies):]
	}
}

// current are the addresses of the messages that the consumer's present life delivered. Lives
// follow each other, so those are the last ones.
func (d *Delivery) current(items []*held) []string {
	life := d.life.Load()
	var replies []string
	for _, h := range items {
		if h.life == life {
			replies = append(replies, d.holding.replyOf(h))
		}
	}
	return replies
}

func (d *Delivery) tell(ctx context.Context, replies []string, verb string) error {
	conn := d.js.Conn()
	last := len(replies) - 1
	for _, reply := range replies[:last] {
		if err := conn.Publish(reply, []byte(verb)); err != nil {
			return err
		}
	}
	answered, cancel := context.WithTimeout(ctx, min(10*time.Second, max(time.Second, d.cfg.Stream.AckWait/2)))
	defer cancel()
	_, err := conn.RequestWithContext(answered, replies[last], []byte(verb))
	return err
}
