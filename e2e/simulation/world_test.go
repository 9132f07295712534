// Package simulation runs the program's own publishers, claims, agent, delivery and the writers of tables and archive in one
// process, over a simulated clock, a simulated NATS server behind the real client, a simulated database and a simulated
// disk. Each world comes from a seed, which decides what takes part, and what goes wrong and when: connections that break
// in the middle of a message, answers that are lost, requests that are executed late, kills of every process, a stream
// that forgets acknowledgements, messages that cannot be stored, a disk that refuses, tears and forgets, clocks that jump.
// In each world everything is stored exactly once in the end, and nothing is acknowledged before.
package simulation

import (
	"context"
	"fmt"
	"hash"
	"hash/fnv"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"github.com/tensortap/tensortap/consumers/clickhouse"
	"github.com/tensortap/tensortap/e2e/internal/simulated"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

const (
	trouble  = 3 * time.Minute  // faults come for so long
	patience = 30 * time.Minute // and then all work has to end within that
	rank     = 3
)

// Consumers of the stream.
const (
	tables  = "clickhouse"
	archive = "parquet"
)

// world is one run of the program.
type world struct {
	fate     *simulated.Fate
	dice     *simulated.Dice
	server   *simulated.Server
	database *simulated.Database
	disk     *simulated.Disk // of the archive, if there is one
	jumps    bool            // clocks do
	spools   string          // folder of the spools, if there is an agent
	tapped   *tapped
	ctx      context.Context //nolint:containedctx // of the test
	work     sync.WaitGroup

	mutex    sync.Mutex
	failures []string
	history  hash.Hash64              // of what was stored and acknowledged, and when
	stream   map[string][]byte        // what has which id
	dead     map[string]bool          // consumers and sequences of messages with a dead letter
	kept     map[schemas.Batches]bool // acknowledged by the archive
	claims   map[string]source
	finished map[string]schemas.Message // of jobs that were finished
	busy     int                        // publishers
}

// source is a claim, as the bucket has it.
type source struct {
	Content    string `json:"content"`
	Generation uint32 `json:"generation"`
	Done       bool   `json:"done"`
}

func newWorld(ctx context.Context, seed uint64, dir string) *world {
	fate := &simulated.Fate{Seed: seed, Calm: time.Now().Add(trouble)}
	w := &world{
		fate: fate, dice: fate.Of("world"), database: simulated.NewDatabase(fate), ctx: ctx, kept: map[schemas.Batches]bool{},
		history: fnv.New64a(), stream: map[string][]byte{}, dead: map[string]bool{}, claims: map[string]source{}, finished: map[string]schemas.Message{},
	}
	consumers := []string{tables}
	parts := fate.Of("parts")
	if parts.Below(2) == 0 {
		w.disk = simulated.NewDisk(fate, archive, dir)
		consumers = append(consumers, archive)
	}
	w.server = simulated.NewServer(fate, consumers...)
	w.jumps = parts.Below(2) == 0
	if parts.Below(8) == 0 {
		w.spools = filepath.Join(dir, "spools")
	}
	if w.jumps {
		w.server.Now = fate.Clock("server", 10*time.Minute).Now
	}
	w.server.OnStore, w.server.OnAck = w.stored, w.acknowledged
	return w
}

func (w *world) fail(format string, args ...any) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.failures = append(w.failures, fmt.Sprintf(format, args...))
}

// clock is that of a process.
func (w *world) clock(name string) func() time.Time {
	if !w.jumps {
		return time.Now
	}
	return w.fate.Clock(name, 100*time.Hour).Now
}

// connect is what a process does first.
func (w *world) connect(ctx context.Context, door *simulated.Door) (*nats.Conn, jetstream.JetStream) {
	for ctx.Err() == nil {
		conn, err := nats.Connect("nats://simulated:4222", nats.InProcessServer(door), nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond), nats.ReconnectJitter(0, 0),
			nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
		if err != nil {
			time.Sleep(time.Second)
			continue
		}
		js, err := jetstream.New(conn)
		if err != nil {
			w.fail("%v", err)
		}
		return conn, js
	}
	return nil, nil
}

// life is a process from its start to its end.
type life struct {
	name  string
	door  *simulated.Door
	crash func() // ends it at once
	fell  atomic.Bool
}

// process runs a program until it ends by itself, and again after each kill.
func (w *world) process(name string, kills int, run func(ctx context.Context, l *life)) {
	dice := w.fate.Of(name)
	for number := 0; w.ctx.Err() == nil; number++ {
		ctx, cancel := context.WithCancel(w.ctx)
		l := &life{name: fmt.Sprintf("%s %d", name, number)}
		l.door = w.server.Door(l.name)
		l.crash = func() {
			l.fell.Store(true)
			l.door.Kill()
			cancel()
		}
		ended := make(chan struct{})
		w.work.Go(func() { defer close(ended); run(ctx, l) })
		var killed <-chan time.Time
		if number < kills {
			killed = time.After(dice.Upto(trouble / 2))
		}
		select {
		case <-ended:
			cancel()
			if !l.fell.Load() {
				return
			}
		case <-killed:
			l.crash()
		}
		time.Sleep(dice.Upto(10 * time.Second))
	}
}

// write runs the writer of the database.
func (w *world) write(ctx context.Context, l *life) {
	client := w.database.Client(l.name)
	stop := context.AfterFunc(ctx, client.Kill)
	defer stop()
	writer, err := clickhouse.New(clickhouse.DefaultConfig(), client)
	if err != nil {
		w.fail("writer: %v", err)
		return
	}
	w.deliver(ctx, l, tables, writer)
}

// deliver brings the stream to a sink.
func (w *world) deliver(ctx context.Context, l *life, consumer string, sink pipelines.Sink) {
	conn, js := w.connect(ctx, l.door)
	if conn == nil {
		return
	}
	defer conn.Close()
	delivery, err := pipelines.New(w.config(l), frugal{js}, consumer, sink, zerolog.Nop(), w.clock(l.name))
	if err == nil {
		err = delivery.Run(ctx)
	}
	if err != nil {
		w.fail("%s: %v", l.name, err)
	}
}

// config is that of a process.
func (w *world) config(l *life) pipelines.Config {
	cfg := pipelines.DefaultConfig()
	cfg.Deliver.Jitter = w.fate.Of("pauses of " + l.name).Upto
	cfg.Publish.Jitter = cfg.Deliver.Jitter
	cfg.Publish.SpillDir = "none"
	return cfg
}

// kills of a part that is no process of ours.
func (w *world) outages(name string, kill func(time.Duration)) {
	dice := w.fate.Of(name)
	for range dice.Below(3) {
		time.Sleep(dice.Upto(trouble / 2))
		if !time.Now().Before(w.fate.Calm) {
			return
		}
		kill(dice.Upto(20 * time.Second))
	}
}

// run lets the world go through its trouble and then to its end.
func (w *world) run(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(w.ctx)
	w.ctx = ctx
	stop := make(chan struct{})
	w.work.Go(func() { w.server.Run(stop) })
	w.work.Go(func() { w.outages("server", w.server.Kill) })
	w.work.Go(func() { w.outages("database", w.database.Kill) })
	w.work.Go(func() { w.process("writer", w.dice.Below(3), w.write) })
	if w.disk != nil {
		w.work.Go(func() { w.process(archive, w.fate.Of("archive").Below(3), w.archive) })
	}
	if w.spools != "" {
		w.tap(t)
	}
	for i := range 2 {
		w.busy++
		jobs := w.jobs()
		kills := w.dice.Below(3)
		w.work.Go(func() {
			w.process(fmt.Sprintf("publisher %d", i), kills, jobs.run)
			w.mutex.Lock()
			defer w.mutex.Unlock()
			w.busy--
		})
	}
	if w.dice.Below(3) == 0 {
		w.work.Go(w.poison)
	}
	w.await()
	cancel()
	close(stop)
	w.work.Wait()
	w.server.Close()
	time.Sleep(10 * time.Minute) // whatever was late has come
}

// await waits until all work has ended.
func (w *world) await() {
	deadline := w.fate.Calm.Add(patience)
	for !w.idle() {
		if time.Now().After(deadline) {
			w.fail("after %v of calm %d publishers work, and %d messages are not acknowledged", patience, w.busy, w.server.Pending())
			return
		}
		time.Sleep(time.Second)
	}
}

func (w *world) idle() bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.busy == 0 && !time.Now().Before(w.fate.Calm) && w.server.Pending() == 0
}

// see runs the world of a seed, and returns the sum of its history, and what is wrong with it. It must be called in a bubble.
func see(t *testing.T, seed uint64, dir string) (history uint64, failures []string) {
	t.Helper()
	w := newWorld(context.WithoutCancel(t.Context()), seed, dir)
	w.run(t)
	failures = w.check()
	return w.history.Sum64(), failures
}
