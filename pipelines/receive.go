package pipelines

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/schemas"
)

// subscription is the receiver's place at the consumer.
type subscription struct {
	consumer jetstream.Consumer // nil: to be opened
	created  time.Time
	last     uint64 // consumer's number of the message received last; it only grows within one life
}

// receive reads the stream until ctx ends. When a subscription ends, it opens the next, and makes
// the consumer and the stream again if they are gone. Only a connection closed for good is an
// error.
func (d *Delivery) receive(ctx context.Context, to chan<- *held) error {
	d.rewind(ctx)
	var sub subscription
	again := backoff{least: d.cfg.Deliver.RetryMin, most: d.cfg.Deliver.RetryMax, jitter: d.cfg.Deliver.Jitter}
	for ctx.Err() == nil {
		err := d.drink(ctx, &sub, to, &again)
		switch {
		case ctx.Err() != nil: // the end, and no failure
		case d.js.Conn().IsClosed():
			return fmt.Errorf("receive: %w", errors.Join(nats.ErrConnectionClosed, err))
		case err == nil:
			d.rest(ctx)
		default:
			sub.consumer = nil
			d.metrics.reopened.Add(1)
			d.log.Warn().Err(err).Msg("subscription ended, opening it again")
			_ = again.wait(ctx) // the loop looks at ctx
		}
	}
	return nil
}

// rewind makes the server deliver at once the messages that an earlier process received and did not
// acknowledge, rather than after AckWait. Servers before 2.14 cannot.
func (d *Delivery) rewind(ctx context.Context) {
	if _, err := d.js.ResetConsumer(ctx, StreamName, d.consumer); err != nil {
		d.log.Debug().Err(err).Msg("unacknowledged messages come again after the ack wait only")
	}
}

// fetchMissed makes the server deliver at once what it has sent and this process never got. It would do so after AckWait, which
// it measures by its time of day: set back by hours, it would wait for as long.
func (d *Delivery) fetchMissed(ctx context.Context, consumer jetstream.Consumer) {
	info, err := consumer.Info(ctx)
	if err == nil && info.NumAckPending > d.holding.count() {
		d.log.Warn().Int("missed_messages", info.NumAckPending-d.holding.count()).Msg("messages that were sent did not come, asking for them again")
		d.rewind(ctx)
	}
}

// drink reads until there is no room for more or nothing came for long, which
// is nil, or until the subscription fails.
func (d *Delivery) drink(ctx context.Context, sub *subscription, to chan<- *held, again *backoff) error {
	messages, err := d.open(ctx, sub)
	if err != nil {
		return err
	}
	defer messages.Stop()
	for d.holding.size() < d.cfg.Deliver.HeldBytes {
		msg, err := next(ctx, messages, idle)
		if errors.Is(err, errSilent) {
			d.fetchMissed(ctx, sub.consumer)
			break
		}
		if err != nil {
			return err
		}
		again.reset()
		if err := d.take(ctx, sub, msg, to); err != nil {
			return err
		}
	}
	// Requested messages may still arrive: they are held too, so that they do not grow old in a
	// buffer.
	messages.Drain()
	for {
		msg, err := next(ctx, messages, drain)
		if errors.Is(err, jetstream.ErrMsgIteratorClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := d.take(ctx, sub, msg, to); err != nil {
			return err
		}
	}
}

const (
	// idle is the longest silence of a subscription before it is replaced, in case the client
	// library lost track of it.
	idle = time.Minute
	// drain is the longest wait for the rest of a subscription.
	drain = 5 * time.Second
)

var errSilent = errors.New("no message")

// next is the next message. Its error is errSilent if none came for that long.
func next(ctx context.Context, messages jetstream.MessagesContext, patience time.Duration) (jetstream.Msg, error) {
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	msg, err := messages.Next(jetstream.NextContext(waiting))
	switch {
	case err == nil:
		return msg, nil
	case waiting.Err() != nil && ctx.Err() == nil:
		return nil, fmt.Errorf("receive from %s: %w for %v", StreamName, errSilent, patience)
	default:
		return nil, fmt.Errorf("receive from %s: %w", StreamName, err)
	}
}

// rest waits until half of the memory is free. Meanwhile all that is held may
// be written, however young.
func (d *Delivery) rest(ctx context.Context) {
	d.paused.Store(true)
	defer d.paused.Store(false)
	select {
	case d.pressure <- struct{}{}:
	default:
	}
	d.holding.waitBelow(ctx, d.cfg.Deliver.HeldBytes/2)
}

func (d *Delivery) open(ctx context.Context, sub *subscription) (jetstream.MessagesContext, error) {
	if sub.consumer == nil {
		consumer, err := d.makeConsumer(ctx)
		if err != nil {
			return nil, err
		}
		sub.consumer = consumer
		if created := consumer.CachedInfo().Created; !created.Equal(sub.created) {
			sub.created, sub.last = created, 0
			d.life.Add(1)
		}
	}
	// With fewer bytes than the largest message takes the stream would stand still.
	messages, err := sub.consumer.Messages(d.pulls()...)
	if err != nil {
		return nil, fmt.Errorf("pull from consumer %s: %w", d.consumer, err)
	}
	return messages, nil
}

// pulls is how messages are asked for.
func (d *Delivery) pulls() []jetstream.PullMessagesOpt {
	sign, age := min(5*time.Second, max(500*time.Millisecond, d.cfg.Stream.AckWait/4)), d.cfg.Deliver.PullAge
	pulls := []jetstream.PullMessagesOpt{jetstream.PullMaxBytes(d.cfg.Deliver.PullBytes)}
	if age > 0 {
		sign = min(sign, age/2)
		pulls = append(pulls, jetstream.PullExpiry(age))
	}
	return append(pulls, jetstream.PullHeartbeat(sign))
}

func (d *Delivery) makeConsumer(ctx context.Context) (jetstream.Consumer, error) {
	consumer, err := PrepareConsumer(ctx, d.js, d.cfg.Stream, d.consumer)
	if !errors.Is(err, jetstream.ErrStreamNotFound) {
		return consumer, err
	}
	d.log.Warn().Str("stream", StreamName).Msg("stream is gone, making it again")
	if err := Prepare(ctx, d.js, d.cfg); err != nil {
		return nil, err
	}
	return PrepareConsumer(ctx, d.js, d.cfg.Stream, d.consumer)
}

// take holds a message and passes it on, unless it is held already.
func (d *Delivery) take(ctx context.Context, sub *subscription, msg jetstream.Msg, to chan<- *held) error {
	meta, err := msg.Metadata()
	if err != nil {
		return fmt.Errorf("receive from %s: %w", StreamName, err)
	}
	if meta.Sequence.Consumer <= sub.last {
		d.life.Add(1) // the consumer was made anew, or set back, behind our back
	}
	sub.last = meta.Sequence.Consumer
	h := d.check(msg, meta)
	d.metrics.delivered.Add(1)
	d.metrics.deliveredBytes.Add(int64(len(msg.Data())))
	if !d.holding.add(h) {
		d.metrics.redelivered.Add(1)
		return nil
	}
	select {
	case to <- h:
		return nil
	case <-ctx.Done():
		return ctx.Err() // never written, never acknowledged: the next Run has it
	}
}

// check looks at headers and checksum, and into definitions, which are few. Only the sink decodes measurements, and refuses what it
// cannot read: decoding twice took a sixth of all processor time.
func (d *Delivery) check(msg jetstream.Msg, meta *jetstream.MsgMetadata) *held {
	h := &held{
		subject: Published(msg.Subject()), header: msg.Headers(), reply: msg.Reply(), life: d.life.Load(),
		sequence: meta.Sequence.Stream, timeNs: meta.Timestamp.UnixNano(), since: d.now(),
		size: len(msg.Data()) + headerBytes(msg.Headers()) + heldOverhead,
	}
	message, err := schemas.ParseMessage(h.subject, h.header, msg.Data(), h.sequence)
	if err == nil {
		err = message.CheckDefinitions()
	}
	if err != nil {
		d.metrics.malformed.Add(1)
		h.reason = reasonOf(err)
		message = schemas.Message{Data: msg.Data(), Sequence: h.sequence}
	}
	h.message = message
	return h
}

func reasonOf(err error) string {
	if malformed := new(schemas.MalformedError); errors.As(err, &malformed) {
		return malformed.Reason
	}
	return err.Error()
}
