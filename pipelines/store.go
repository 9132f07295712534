package pipelines

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/internal/spans"
	"github.com/tensortap/tensortap/schemas"
)

// deadLettersAtOnce bounds how many dead letters are on their way at a time.
const deadLettersAtOnce = 16

// write gives the batch to the sink until it is durable, and then acknowledges
// it. It returns the messages that the sink refused for good. Once run has
// ended, a failure leaves the batch to the next Run; work is run and the grace.
func (d *Delivery) write(run, work context.Context, b *batch) []*held {
	messages := make([]schemas.Message, len(b.items))
	for i, h := range b.items {
		messages[i] = h.message
	}
	trouble := d.newOutage(d.log.With().Str("kind", b.kind).Int("batch_rows", b.rows).Logger())
	under, span := d.follow(work, b)
	for {
		err := d.writeOnce(under, messages, b.weight())
		if rejected := new(schemas.RejectedError); err == nil || errors.As(err, &rejected) {
			trouble.over()
			spans.End(span, err)
			stored, refused := split(b.items, rejected.Reasons)
			d.stored(work, stored)
			d.metrics.rejected.Add(int64(len(refused)))
			return refused
		}
		d.metrics.writeRetries.Add(1)
		tellAgain(span, err)
		if !trouble.endure(run, err) {
			spans.End(span, err)
			d.holding.remove(b.items)
			return nil
		}
	}
}

// writeOnce waits until others leave room for what the messages unpack to.
func (d *Delivery) writeOnce(ctx context.Context, messages []schemas.Message, weight int64) error {
	if err := d.writing.Acquire(ctx, weight); err != nil {
		return err
	}
	defer d.writing.Release(weight)
	return d.sink.Write(ctx, messages)
}

// split parts the refused messages, with the reasons noted, from the others.
func split(items []*held, reasons map[int]string) (stored, refused []*held) {
	if len(reasons) == 0 {
		return items, nil
	}
	for i, h := range items {
		reason, ok := reasons[i]
		if !ok {
			stored = append(stored, h)
			continue
		}
		h.reason = "refused by the store: " + reason
		refused = append(refused, h)
	}
	return stored, refused
}

func (d *Delivery) stored(work context.Context, items []*held) {
	rows := 0
	for _, h := range items {
		rows += h.message.Header.Rows
	}
	d.metrics.writes.Add(1)
	d.metrics.written.Add(int64(len(items)))
	d.metrics.writtenRows.Add(int64(rows))
	d.confirm(work, items, acknowledge)
	d.holding.remove(items)
}

// putAside makes dead letters of the batch and then ends their delivery.
func (d *Delivery) putAside(run, work context.Context, b *batch) {
	var group errgroup.Group
	group.SetLimit(deadLettersAtOnce)
	for _, h := range b.items {
		group.Go(func() error {
			one := []*held{h}
			if d.putLetter(run, work, h) {
				d.confirm(work, one, terminate)
			}
			d.holding.remove(one)
			return nil
		})
	}
	_ = group.Wait() // no member fails
}

// putLetter says whether the dead letter is durable; it is not when run ended first.
func (d *Delivery) putLetter(run, work context.Context, h *held) bool {
	letter := deadLetter{
		Origin: d.consumer, Subject: h.subject, Header: h.header, Data: h.message.Data,
		Sequence: h.sequence, TimeNs: h.timeNs, Reason: h.reason,
	}
	trouble := d.newOutage(d.log.With().Uint64("stream_seq", h.sequence).Str("reason", h.reason).Logger())
	for {
		err := letter.put(work, d.js, d.cfg.Publish.SpillDir)
		if err == nil {
			trouble.over()
			d.metrics.deadLetters.Add(1)
			d.log.Warn().Uint64("stream_seq", h.sequence).Str("subject", bounded(h.subject, maxHeaderValue)).
				Str("reason", bounded(h.reason, maxReasonBytes)).Msg("message can not be stored, put aside")
			return true
		}
		if !trouble.endure(run, err) {
			return false
		}
	}
}

// outage waits for an unavailable store or stream, and reports it at a bounded rate.
type outage struct {
	log     zerolog.Logger
	now     func() time.Time
	metrics *Metrics
	every   time.Duration
	again   backoff
	since   time.Time // zero while nothing is wrong
	logged  time.Time
}

func (d *Delivery) newOutage(log zerolog.Logger) *outage {
	cfg := d.cfg.Deliver
	return &outage{
		log: log, now: d.now, metrics: d.metrics, every: cfg.LogEvery,
		again: backoff{least: cfg.RetryMin, most: cfg.RetryMax, jitter: cfg.Jitter},
	}
}

// endure pauses after a failure; false means that ctx has ended, so there is
// no point in trying again.
func (o *outage) endure(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		o.log.Warn().Err(err).Msg("left to the next run")
		return false
	}
	now := o.now()
	if o.since.IsZero() {
		o.since = now
	}
	if o.logged.IsZero() || now.Sub(o.logged) >= o.every {
		o.logged = now
		held := o.metrics.Snapshot()
		o.log.Warn().Err(err).Dur("away", now.Sub(o.since)).
			Int64("held_messages", held.HeldMessages).Int64("held_bytes", held.HeldBytes).
			Msg("store is unavailable, trying again")
	}
	_ = o.again.wait(ctx) // as ctx ends there is one last try
	return true
}

// over ends the outage, if there was one.
func (o *outage) over() {
	if o.since.IsZero() {
		return
	}
	o.log.Info().Dur("away", o.now().Sub(o.since)).Msg("store is back")
	o.since = time.Time{}
}
