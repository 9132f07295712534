package pipelines_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// ofRanks are messages of so many ranks, two of each.
func ofRanks(tb testing.TB, run string, ranks int) list {
	tb.Helper()
	var all list
	for rank := range ranks {
		for batch := range 2 {
			all = append(all, steps(tb, schemas.Identity{RunID: schemas.RunID(run), Rank: uint32(rank), Epoch: 1, Batch: uint64(batch)}, 3))
		}
	}
	return all
}

// shardConfig is that of the delivery of one shard.
func shardConfig(cfg pipelines.Config, shard int) pipelines.Config {
	cfg.Stream.Sharded, cfg.Stream.Consumers, cfg.Stream.Subjects = true, nil, pipelines.ShardSubjects(shard)
	return cfg
}

// deliverShards has each shard delivered to a recorder of its own.
func deliverShards(tb testing.TB, s *stream, cfg pipelines.Config) [pipelines.Shards]*recorder {
	tb.Helper()
	var sinks [pipelines.Shards]*recorder
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	var group errgroup.Group
	for shard := range sinks {
		sinks[shard] = newRecorder()
		d, err := pipelines.New(shardConfig(cfg, shard), s.js, fmt.Sprint("shard", shard), sinks[shard], testLog(), time.Now)
		must(tb, err)
		group.Go(func() error { return d.Run(ctx) })
	}
	tb.Cleanup(func() {
		cancel()
		_ = group.Wait() // ended by us
	})
	return sinks
}

func inAll(sinks [pipelines.Shards]*recorder) int {
	sum := 0
	for _, sink := range sinks {
		sum += sink.len()
	}
	return sum
}

// TestEachRankIsInOneShard publishes before the stream is shared out and after, one by one and together.
func TestEachRankIsInOneShard(t *testing.T) {
	t.Parallel()
	s, cfg := startStream(t), testConfig(t)
	must(t, pipelines.Prepare(t.Context(), s.js, cfg))
	p := newPublisher(t, s, cfg)
	before := ofRanks(t, "before", 5)
	must(t, publishAll(t.Context(), p, before))
	if left, err := pipelines.Unsharded(t.Context(), s.js); err != nil || !left {
		t.Errorf("messages without a shard: %v, %v, want some", left, err)
	}
	must(t, pipelines.Prepare(t.Context(), s.js, shardConfig(cfg, 0)))
	one, together := ofRanks(t, "one by one", 20), ofRanks(t, "together", 20)
	must(t, publishAll(t.Context(), p, one))
	must(t, p.PublishTogether(t.Context(), together...))
	must(t, p.Flush(t.Context()))
	sinks := deliverShards(t, s, cfg)
	all := len(before) + len(one) + len(together)
	eventually(t, "all is stored", func() bool { return inAll(sinks) >= all })
	if n := inAll(sinks); n != all {
		t.Errorf("%d messages are stored, want %d: one is in two shards", n, all)
	}
	requireShards(t, sinks, len(before))
	read := 0
	for _, err := range pipelines.Kept(t.Context(), s.js, 1, 0) {
		must(t, err)
		read++
	}
	if read != all {
		t.Errorf("%d messages of the stream can be read, want %d", read, all)
	}
}

// requireShards checks that the first shard has what came before, and that no rank is in two.
func requireShards(t *testing.T, sinks [pipelines.Shards]*recorder, before int) {
	t.Helper()
	places := map[string]int{}
	for shard, sink := range sinks {
		if sink.len() == 0 {
			t.Errorf("shard %d of 40 ranks is empty", shard)
		}
		for _, m := range sink.kind("step") {
			id := m.Header.Identity
			if id.RunID == schemas.RunID("before") {
				before--
				if shard != 0 {
					t.Errorf("shard %d has a message that came before", shard)
				}
			}
			rank := fmt.Sprint(id.RunID, id.Rank)
			if at, known := places[rank]; known && at != shard {
				t.Errorf("rank %s is in shards %d and %d", rank, at, shard)
			}
			places[rank] = shard
		}
	}
	if before != 0 {
		t.Errorf("%d messages that came before are in no shard", before)
	}
}

// TestWhatNoProducerPublishesBecomesADeadLetterOnce has subjects that no shard is made of, and messages that cannot be read.
func TestWhatNoProducerPublishesBecomesADeadLetterOnce(t *testing.T) {
	t.Parallel()
	s, cfg := startStream(t), testConfig(t)
	must(t, pipelines.Prepare(t.Context(), s.js, shardConfig(cfg, 0)))
	wrong := []string{"tap.x", "tap.a.b.c.d.e", "tap.step.nothing.here"}
	for _, subject := range wrong {
		must(t, s.conn.PublishMsg(&nats.Msg{Subject: subject, Data: []byte("no rows")}))
	}
	sinks := deliverShards(t, s, cfg)
	var told []string
	eventually(t, "each is a dead letter", func() bool {
		told = nil
		for _, sink := range sinks {
			for _, row := range sink.deadLetters(t) {
				told = append(told, row.Subject)
			}
		}
		return len(told) >= len(wrong)
	})
	slices.Sort(told)
	slices.Sort(wrong)
	if !slices.Equal(told, wrong) {
		t.Errorf("dead letters of %q, want %q", told, wrong)
	}
}

// worker is one that shares numbers, over a connection of its own.
type worker struct {
	conn *nats.Conn
	stop context.CancelFunc
	run  *errgroup.Group

	mu  sync.Mutex
	has map[int]bool
}

// startWorker shares the numbers of a group until it is stopped. Work is all that it does.
func startWorker(tb testing.TB, s *stream, name string) *worker {
	tb.Helper()
	other := connectAgain(tb, s)
	shares, err := pipelines.OpenShares(tb.Context(), other.js, "work", pipelines.Shards, name, zerolog.Nop())
	must(tb, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	w := &worker{conn: other.conn, stop: cancel, run: &errgroup.Group{}, has: map[int]bool{}}
	w.run.Go(func() error { return shares.Run(ctx, w.work) })
	tb.Cleanup(func() { w.end() })
	return w
}

func (w *worker) end() {
	w.stop()
	_ = w.run.Wait() // a closed connection is an error
}

func (w *worker) work(ctx context.Context, number int) error {
	w.set(func() { w.has[number] = true })
	<-ctx.Done()
	w.set(func() { delete(w.has, number) })
	return nil
}

func (w *worker) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

func (w *worker) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.has)
}

// connectAgain is another client of the same server.
func connectAgain(tb testing.TB, s *stream) *stream {
	tb.Helper()
	conn, err := nats.Connect(s.server.ClientURL(), nats.Timeout(time.Minute))
	must(tb, err)
	tb.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	must(tb, err)
	return &stream{conn: conn, js: js}
}

func TestWorkersHaveAboutAsManyNumbersEach(t *testing.T) {
	t.Parallel()
	s := startStream(t)
	one := startWorker(t, s, "one")
	eventually(t, "the only worker has all", func() bool { return one.count() == pipelines.Shards })
	two, three := startWorker(t, s, "two"), startWorker(t, s, "three")
	all := []*worker{one, two, three}
	eventually(t, "three workers share", func() bool {
		sum := 0
		for _, w := range all {
			if n := w.count(); n == 0 || n > 3 {
				return false
			}
			sum += w.count()
		}
		return sum == pipelines.Shards
	})
	three.end()
	two.conn.Close() // as if it had died
	eventually(t, "the last has all again", func() bool { return one.count() == pipelines.Shards })
	if err := two.run.Wait(); !errors.Is(err, nats.ErrConnectionClosed) {
		t.Errorf("a worker without connection ends with %v", err)
	}
}

func TestANumberWhoseWorkFailsIsTakenAgain(t *testing.T) {
	t.Parallel()
	s := startStream(t)
	shares, err := pipelines.OpenShares(t.Context(), s.js, "work", 1, "only", zerolog.Nop())
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	tries := 0
	err = shares.Run(ctx, func(context.Context, int) error {
		if tries++; tries == 2 {
			cancel()
		}
		return errors.New("the store is away")
	})
	if err != nil || tries != 2 {
		t.Errorf("%d tries, %v", tries, err)
	}
}

// TestALeaseThatIsGivenBackLeavesNothing counts what is left of it, since members of a group are counted so.
func TestALeaseThatIsGivenBackLeavesNothing(t *testing.T) {
	t.Parallel()
	s := startStream(t)
	first, err := pipelines.OpenLeases(t.Context(), s.js, "first")
	must(t, err)
	second, err := pipelines.OpenLeases(t.Context(), s.js, "second")
	must(t, err)
	for _, leases := range []*pipelines.Leases{first, second} {
		if mine, err := leases.Take(t.Context(), "work"); !mine || err != nil {
			t.Fatalf("a lease that is nobody's: %v, %v", mine, err)
		}
		leases.LetGo(t.Context())
		bucket, err := s.js.Stream(t.Context(), "KV_"+pipelines.LeaseBucket)
		must(t, err)
		if left := bucket.CachedInfo().State.Msgs; left != 0 {
			t.Errorf("%d messages are left", left)
		}
	}
}
