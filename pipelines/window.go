package pipelines

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Only the holder of the publisher's turn calls the methods here.

// send gives the entry to the connection. A failure is seen by settle.
func (p *Publisher) send(e *outgoing) {
	if e.tried {
		p.metrics.publishRetries.Add(1)
		e.sentAgain()
	}
	e.tried = true
	future, err := p.transmit(e)
	if err != nil {
		p.fail(err)
		return
	}
	e.sent = future
}

// reap takes acknowledged messages off the head of the queue without waiting.
func (p *Publisher) reap(ctx context.Context) error {
	for len(p.queue) > 0 {
		head := p.queue[0]
		if head.sent == nil {
			if p.now().Before(p.retryAt) {
				return nil
			}
			p.send(head) // the head only: while it fails, the others need not be tried
			return nil
		}
		select {
		case ack := <-head.sent.Ok():
			p.acknowledged(ack)
		case err := <-head.sent.Err():
			if err := p.refused(ctx, head, err); err != nil {
				return err
			}
		default:
			return nil
		}
	}
	return nil
}

// settle waits until the head of the queue is acknowledged, sending it again
// as often as it takes.
func (p *Publisher) settle(ctx context.Context) error {
	// The future ends after AckTimeout; this is for a lost future.
	lost := time.NewTimer(2 * p.cfg.AckTimeout)
	defer lost.Stop()
	for {
		head := p.queue[0]
		if head.sent == nil {
			if p.js.Conn().IsClosed() {
				return fmt.Errorf("%w: %w", nats.ErrConnectionClosed, p.failed)
			}
			if err := pause(ctx, p.retryAt.Sub(p.now())); err != nil {
				return errors.Join(err, p.failed)
			}
			p.send(head)
			continue
		}
		select {
		case ack := <-head.sent.Ok():
			p.acknowledged(ack)
			return nil
		case err := <-head.sent.Err():
			if err := p.refused(ctx, head, err); err != nil {
				return err
			}
		case <-lost.C:
			head.sent = nil
			p.fail(jetstream.ErrAsyncPublishTimeout)
			lost.Reset(2 * p.cfg.AckTimeout)
		case <-ctx.Done():
			return errors.Join(ctx.Err(), p.failed)
		}
	}
}

// acknowledged takes the head off the queue.
func (p *Publisher) acknowledged(ack *jetstream.PubAck) {
	head := p.queue[0]
	p.queue[0] = nil
	p.queue = p.queue[1:]
	p.bytes -= head.size
	if ack.Duplicate {
		p.metrics.duplicates.Add(1)
	} else {
		p.metrics.published.Add(max(1, int64(len(head.parts))))
	}
	p.metrics.publishedBytes.Add(int64(head.size))
	head.taken(ack)
	p.metrics.saw(ack.Sequence)
	if p.failed != nil {
		p.recovered()
	}
}

// recovered sends all that was held back or had failed meanwhile.
func (p *Publisher) recovered() {
	p.failed = nil
	p.retry.reset()
	p.onState(State{})
	for _, e := range p.queue {
		if p.failed != nil {
			return // away again; the rest waits for its turn
		}
		if e.sent != nil && !hasFailed(e.sent) {
			continue
		}
		p.send(e)
	}
}

// hasFailed also takes the error out of the future, which is then replaced.
func hasFailed(sent jetstream.PubAckFuture) bool {
	select {
	case err := <-sent.Err():
		return err != nil
	default:
		return false
	}
}

// refused handles the head's failure: it puts aside a message that can never be taken, or else
// waits.
func (p *Publisher) refused(ctx context.Context, head *outgoing, err error) error {
	head.sent = nil
	if head.parts != nil {
		p.split()
		return nil
	}
	if code := new(jetstream.APIError); errors.As(err, &code) && code.ErrorCode == jetstream.JSErrCodeStreamMessageExceedsMaximum {
		before := head.size
		if err := p.putAside(ctx, head, "refused by the stream: "+err.Error()); err != nil {
			return err
		}
		p.bytes += head.size - before
		p.send(head)
		return nil
	}
	p.fail(err)
	return nil
}

// fail notes why the stream did not take a message, and when to try again.
func (p *Publisher) fail(err error) {
	if p.failed == nil || p.failed.Error() != err.Error() {
		p.onState(State{Waiting: err, Since: p.now()})
	}
	p.failed = err
	p.retryAt = p.now().Add(p.retry.next())
}
