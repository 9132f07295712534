package pipelines_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/netip"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// stream is a NATS server in a folder, and a connection that outlives it.
type stream struct {
	dir    string
	port   int
	lazy   bool // do not sync every message
	server *server.Server
	conn   *nats.Conn
	js     jetstream.JetStream
}

func startStream(tb testing.TB) *stream {
	tb.Helper()
	return connect(tb, &stream{dir: tb.TempDir(), port: -1})
}

func connect(tb testing.TB, s *stream) *stream {
	tb.Helper()
	s.start(tb)
	conn, err := nats.Connect(s.server.ClientURL(), nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond), nats.Timeout(time.Minute))
	must(tb, err)
	tb.Cleanup(conn.Close)
	s.conn = conn
	s.js, err = jetstream.New(conn, jetstream.WithDefaultTimeout(time.Minute))
	must(tb, err)
	return s
}

func (s *stream) start(tb testing.TB) {
	tb.Helper()
	srv, err := server.NewServer(&server.Options{
		JetStream: true, StoreDir: s.dir, Host: "127.0.0.1", Port: s.port, NoLog: true, NoSigs: true,
		SyncAlways: !s.lazy, MaxPayload: schemas.MaxMessageBytes + 64<<10, JetStreamMaxStore: 8 << 30,
	})
	must(tb, err)
	srv.Start()
	if !srv.ReadyForConnections(10 * time.Second) {
		tb.Fatal("NATS server is not ready after 10s")
	}
	s.server = srv
	address, err := netip.ParseAddrPort(srv.Addr().String())
	must(tb, err)
	s.port = int(address.Port())
	tb.Cleanup(srv.Shutdown)
}

func (s *stream) stop() {
	s.server.Shutdown()
	s.server.WaitForShutdown()
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func testConfig(tb testing.TB) pipelines.Config {
	tb.Helper()
	cfg := pipelines.DefaultConfig()
	cfg.Stream.MaxBytes = 1 << 30
	cfg.Stream.DeadMaxBytes = 64 << 20
	cfg.Stream.AckWait = 10 * time.Second
	cfg.Stream.Consumers = []string{"store"}
	cfg.Publish.SpillDir = tb.TempDir()
	cfg.Deliver.BatchAge = 20 * time.Millisecond
	cfg.Deliver.RetryMin, cfg.Deliver.RetryMax = 10*time.Millisecond, 100*time.Millisecond
	return cfg
}

func testLog() zerolog.Logger {
	if os.Getenv("TEST_LOG") == "" {
		return zerolog.New(io.Discard)
	}
	return zerolog.New(os.Stderr).With().Timestamp().Logger()
}

// steps is a message of rows of the table step.
func steps(tb testing.TB, id schemas.Identity, rows int) schemas.Message {
	tb.Helper()
	b := schemas.NewBuilder[schemas.StepRow]()
	for i := range rows {
		b.Append(&schemas.StepRow{
			RunID: id.RunID, Rank: id.Rank, Epoch: id.Epoch, Batch: id.Batch, EventTimeNs: int64(i), Step: uint32(i),
		})
	}
	m, err := b.Message(id)
	must(tb, err)
	return m
}

func ops(tb testing.TB, id schemas.Identity, names ...string) schemas.Message {
	tb.Helper()
	b := schemas.NewBuilder[schemas.OpRow]()
	for _, name := range names {
		row := schemas.ParseOpName(name)
		b.Append(&row)
	}
	m, err := b.Message(id)
	must(tb, err)
	return m
}

func sites(tb testing.TB, id schemas.Identity, paths ...string) schemas.Message {
	tb.Helper()
	b := schemas.NewBuilder[schemas.SiteRow]()
	for _, path := range paths {
		b.Append(&schemas.SiteRow{SiteID: schemas.SiteID(1, "output", path), OpID: 1, Role: "output", Path: path})
	}
	m, err := b.Message(id)
	must(tb, err)
	return m
}

func identity(batch int) schemas.Identity {
	return schemas.Identity{RunID: schemas.RunID("problem"), Rank: 3, Epoch: 7, Batch: uint64(batch)}
}

// list is a source of prepared messages.
type list []schemas.Message

func (l list) Batches(context.Context) iter.Seq2[schemas.Message, error] {
	return func(yield func(schemas.Message, error) bool) {
		for _, m := range l {
			if !yield(m, nil) {
				return
			}
		}
	}
}

// recorder is a sink that stores each message once, in memory. before may fail
// a write, or take its time.
type recorder struct {
	before func(ctx context.Context, messages []schemas.Message) error

	mu     sync.Mutex
	stored map[string]schemas.Message
	again  int // messages that it had already
	writes int
}

func newRecorder() *recorder { return &recorder{stored: map[string]schemas.Message{}} }

func (r *recorder) Write(ctx context.Context, messages []schemas.Message) error {
	var failed error
	if r.before != nil {
		failed = r.before(ctx, messages)
	}
	rejected := new(schemas.RejectedError)
	partly := errors.As(failed, &rejected)
	if failed != nil && !partly {
		return failed
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writes++
	for i, m := range messages {
		if m.Header.Kind != messages[0].Header.Kind {
			return fmt.Errorf("kinds %s and %s in one write", messages[0].Header.Kind, m.Header.Kind)
		}
		if partly && rejected.Reasons[i] != "" {
			continue
		}
		if _, ok := r.stored[m.ID()]; ok {
			r.again++
		}
		r.stored[m.ID()] = m
	}
	return failed
}

func (r *recorder) len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.stored)
}

// repeated counts the messages that came though they were stored.
func (r *recorder) repeated() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.again
}

// kind returns the stored messages of that kind.
func (r *recorder) kind(kind string) []schemas.Message {
	r.mu.Lock()
	defer r.mu.Unlock()
	var of []schemas.Message
	for _, m := range r.stored {
		if m.Header.Kind == kind {
			of = append(of, m)
		}
	}
	return of
}

func (r *recorder) deadLetters(tb testing.TB) []schemas.DeadLetterRow {
	tb.Helper()
	var rows []schemas.DeadLetterRow
	for _, m := range r.kind("dead_letter") {
		more, err := schemas.DecodeRows[schemas.DeadLetterRow](m)
		must(tb, err)
		rows = append(rows, more...)
	}
	return rows
}

// deliver runs a delivery to the sink until the test ends or stop is called.
func deliver(tb testing.TB, s *stream, cfg pipelines.Config, sink pipelines.Sink) (d *pipelines.Delivery, stop func() error) {
	tb.Helper()
	d, err := pipelines.New(cfg, s.js, "store", sink, testLog(), time.Now)
	must(tb, err)
	ctx, cancel := context.WithCancel(context.Background())
	var group errgroup.Group
	group.Go(func() error { return d.Run(ctx) })
	stop = sync.OnceValue(func() error {
		cancel()
		return group.Wait()
	})
	tb.Cleanup(func() { _ = stop() })
	return d, stop
}

func newPublisher(tb testing.TB, s *stream, cfg pipelines.Config) *pipelines.Publisher {
	tb.Helper()
	p, err := pipelines.NewPublisher(cfg.Publish, s.js, time.Now, nil)
	must(tb, err)
	return p
}

// eventually waits until the condition holds.
func eventually(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	for end := time.Now().Add(2 * time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			tb.Fatalf("not within two minutes: %s", what)
		}
	}
}

func settled(tb testing.TB, s *stream) func() bool {
	tb.Helper()
	return func() bool {
		p, err := pipelines.ConsumerProgress(tb.Context(), s.js, "store")
		return err == nil && p.CaughtUp()
	}
}

// publishAll publishes the messages of a source and waits until the stream has them.
func publishAll(ctx context.Context, p *pipelines.Publisher, source interface {
	Batches(ctx context.Context) iter.Seq2[schemas.Message, error]
},
) error {
	for message, err := range source.Batches(ctx) {
		if err != nil {
			return errors.Join(err, p.Flush(ctx))
		}
		if err := p.Publish(ctx, message); err != nil {
			return err
		}
	}
	return p.Flush(ctx)
}
