package pipelines

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/tensortap/tensortap/schemas"
)

// Sink makes messages durable.
type Sink interface {
	// Write stores messages of one kind. Nil means that all are durable. A
	// *schemas.RejectedError means that all are but those it lists, which never
	// can be. Any other error means that the store is away: Write is called again with the same
	// messages, so it must accept stored ones. Headers and checksums are sound; the sink refuses
	// data that it cannot decode. Calls for one kind never overlap, calls for several kinds do.
	Write(ctx context.Context, messages []schemas.Message) error
}

// Delivery brings every message of the stream to a sink, at least once and
// until the sink has it. One Delivery per consumer runs at a time.
//
// Invariants: a message is acknowledged only after the sink made it durable,
// or after its dead letter is durable. An acknowledgement is only sent to the
// same life of the consumer that delivered the message: after the stream or
// the consumer was made anew, the same number may be another message.
type Delivery struct {
	cfg      Config
	js       jetstream.JetStream
	consumer string
	sink     Sink
	log      zerolog.Logger
	now      func() time.Time
	metrics  *Metrics
	holding  *holding
	writing  *semaphore.Weighted // bytes of rows that may be written at once
	life     atomic.Int64        // of the consumer: one more each time it begins anew
	paused   atomic.Bool         // the receiver waits for memory
	pressure chan struct{}
}

// New returns the delivery of the stream to the sink under the name of a
// durable consumer, which is made if there is none.
func New(cfg Config, js jetstream.JetStream, consumer string, sink Sink, log zerolog.Logger, now func() time.Time) (*Delivery, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("new delivery to %s: %w", consumer, err)
	}
	metrics := &Metrics{}
	return &Delivery{
		cfg: cfg, js: js, consumer: consumer, sink: sink, now: now, metrics: metrics,
		log:     log.With().Str("consumer", consumer).Logger(),
		holding: newHolding(metrics), pressure: make(chan struct{}, 1), writing: semaphore.NewWeighted(int64(cfg.Deliver.WriteBytes)),
	}, nil
}

// Metrics counts the work of the delivery.
func (d *Delivery) Metrics() *Metrics { return d.metrics }

// Run delivers until ctx ends. Then it writes the held messages, once, within Deliver.Grace; the
// next Run delivers the rest. Its error means that the connection was closed for good.
func (d *Delivery) Run(ctx context.Context) error {
	run, stop := context.WithCancel(ctx)
	defer stop()
	work, end := withGrace(run, d.cfg.Deliver.Grace)
	defer end()
	beating, silence := context.WithCancel(work)
	defer silence()

	var group errgroup.Group
	received := make(chan *held)
	group.Go(func() error {
		defer close(received)
		defer stop()
		return d.receive(run, received)
	})
	group.Go(func() error {
		defer silence()
		return newDispatcher(run, work, d, &group).run(received)
	})
	group.Go(func() error { return d.beat(beating) })
	if err := group.Wait(); err != nil {
		return fmt.Errorf("deliver to %s: %w", d.consumer, err)
	}
	return nil
}

// withGrace is a context that ends only that long after ctx.
func withGrace(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	unhook := context.AfterFunc(ctx, func() {
		defer cancel()
		_ = pause(work, grace) // ends early when the work is done
	})
	return work, func() { unhook(); cancel() }
}

// beat tells the server that held messages are still in work, well before it would deliver them
// again.
func (d *Delivery) beat(ctx context.Context) error {
	every := d.cfg.Stream.AckWait / 4
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
		if !d.js.Conn().IsConnected() {
			continue
		}
		for _, reply := range d.holding.replies(d.life.Load(), d.now().Add(-every/2)) {
			_ = d.js.Conn().Publish(reply, []byte(progress)) // lost ones come again and are known
		}
	}
}
