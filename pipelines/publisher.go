package pipelines

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.opentelemetry.io/otel/trace"

	"github.com/tensortap/tensortap/schemas"
)

// State says whether a publisher gets through.
type State struct {
	Waiting error     // why it waits, nil when it does not
	Since   time.Time // when that began
}

// Publisher sends messages and remembers each until the stream has it. It owns no goroutine: the
// calls of Publish and Flush read acknowledgements and send failed messages again. Its methods may
// be called by several goroutines; the calls queue up.
//
// Invariant: a message leaves the queue only with an acknowledgement in hand,
// or as a dead letter whose bytes are on disk.
type Publisher struct {
	cfg     PublishConfig
	js      jetstream.JetStream
	now     func() time.Time
	onState func(State)
	metrics *Metrics

	turn    chan struct{} // holds one token: its owner may touch the fields below
	queue   []*outgoing   // oldest first
	bytes   int           // of the queue
	failed  error         // of the oldest, since it was sent last
	retryAt time.Time
	retry   backoff
	batches *bool // whether the stream takes batches; nil until it was asked
}

// outgoing is a message without acknowledgement, or several that go as one.
type outgoing struct {
	message schemas.Message
	wire    *nats.Msg
	parts   []*outgoing // the messages of a batch, which has none itself
	size    int
	sent    jetstream.PubAckFuture // nil: still to be sent, or failed
	tried   bool
	span    trace.Span // of its way; nil where it is not followed
}

// NewPublisher returns a publisher over the connection of js. onState may be
// nil; it is called when the publisher begins and ends to wait, within the call
// that waits.
func NewPublisher(cfg PublishConfig, js jetstream.JetStream, now func() time.Time, onState func(State)) (*Publisher, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("new publisher: %w", err)
	}
	own, err := ownJetStream(js, cfg)
	if err != nil {
		return nil, fmt.Errorf("new publisher: %w", err)
	}
	if onState == nil {
		onState = func(State) {}
	}
	p := &Publisher{
		cfg: cfg, js: own, now: now, onState: onState, metrics: cmp.Or(cfg.Metrics, &Metrics{}),
		turn: make(chan struct{}, 1), retry: backoff{least: cfg.RetryMin, most: cfg.RetryMax, jitter: cfg.Jitter},
	}
	p.turn <- struct{}{}
	return p, nil
}

// ownJetStream has our limits on messages in flight, whatever js has.
func ownJetStream(js jetstream.JetStream, cfg PublishConfig) (jetstream.JetStream, error) {
	options := []jetstream.JetStreamOpt{
		jetstream.WithPublishAsyncMaxPending(2 * cfg.WindowMessages), // never binds: the window does
		jetstream.WithPublishAsyncTimeout(cfg.AckTimeout),
	}
	switch have := js.Options(); {
	case have.Domain != "":
		return jetstream.NewWithDomain(js.Conn(), have.Domain, options...)
	case have.APIPrefix != "" && have.APIPrefix != jetstream.DefaultAPIPrefix:
		return jetstream.NewWithAPIPrefix(js.Conn(), have.APIPrefix, options...)
	default:
		return jetstream.New(js.Conn(), options...)
	}
}

// Metrics counts the work of the publisher.
func (p *Publisher) Metrics() *Metrics { return p.metrics }

// Publish sends the message, or queues it while the stream is away. It blocks
// only while the window is full. Its error means that nothing more can be
// published: ctx ended, or the connection was closed for good.
func (p *Publisher) Publish(ctx context.Context, m schemas.Message) error {
	if err := p.lock(ctx); err != nil {
		return err
	}
	defer p.unlock()
	entry, err := p.entry(ctx, m)
	if err != nil {
		return err
	}
	if err := p.enqueue(ctx, entry); err != nil {
		return fmt.Errorf("publish %s: %w", m.ID(), err)
	}
	return nil
}

// enqueue sends the entry once there is room for it.
func (p *Publisher) enqueue(ctx context.Context, entry *outgoing) error {
	for len(p.queue) > 0 && (p.bytes+entry.size > p.cfg.WindowBytes || len(p.queue) >= p.cfg.WindowMessages) {
		if err := p.settle(ctx); err != nil {
			return err
		}
	}
	p.queue = append(p.queue, entry)
	p.bytes += entry.size
	if p.failed == nil {
		p.send(entry)
	}
	return p.reap(ctx)
}

// Flush waits until the stream has acknowledged every message.
func (p *Publisher) Flush(ctx context.Context) error {
	if err := p.lock(ctx); err != nil {
		return err
	}
	defer p.unlock()
	for len(p.queue) > 0 {
		if err := p.settle(ctx); err != nil {
			return fmt.Errorf("flush %d messages: %w", len(p.queue), err)
		}
	}
	return nil
}

// Close gives back what the connection keeps for the publisher: a connection that lives on would keep it for ever.
// Messages without acknowledgement are given up. The publisher cannot be used after that.
func (p *Publisher) Close() { p.js.CleanupPublisher() }

func (p *Publisher) lock(ctx context.Context) error {
	select {
	case <-p.turn:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *Publisher) unlock() { p.turn <- struct{}{} }

// entry is the message ready to send. A message that no stream takes is spilled, and its dead
// letter goes out in its place.
func (p *Publisher) entry(ctx context.Context, m schemas.Message) (*outgoing, error) {
	e := p.follow(ctx, newOutgoing(m))
	if reason := p.tooLarge(e); reason != "" {
		return e, p.putAside(ctx, e, reason)
	}
	return e, nil
}

func newOutgoing(m schemas.Message) *outgoing {
	wire := &nats.Msg{Subject: m.Subject(), Header: m.NATSHeader(), Data: m.Data}
	return &outgoing{message: m, wire: wire, size: wire.Size()}
}

func (p *Publisher) tooLarge(e *outgoing) string {
	if len(e.wire.Data) > schemas.MaxMessageBytes {
		return fmt.Sprintf("%d bytes, limit %d", len(e.wire.Data), schemas.MaxMessageBytes)
	}
	limit := int64(maxWireBytes)
	if server := p.js.Conn().MaxPayload(); server > 0 {
		limit = min(limit, server)
	}
	if size := int64(e.size - len(e.wire.Subject)); size > limit {
		return fmt.Sprintf("%d bytes with headers, the stream takes %d", size, limit)
	}
	return ""
}
