package delivery

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/network"
	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/producers/msprobe"
	"github.com/tensortap/tensortap/schemas"
)

const (
	// liveRun is the run of the live processes behind a network.
	liveRun = "live"
	// loadEvery is the pause between two folders, and between two live steps: a bad network takes its time, which is not to be filled with work.
	loadEvery = 100 * time.Millisecond
)

// behind is a system, and who publishes to it, behind a network each before NATS and ClickHouse.
type behind struct {
	nats, database *network.Link
	direct         *program.Up // asks the servers past the network; no process
	js             jetstream.JetStream
	system         *inProcess
	writers        *twoWriters
	wrote          time.Time // the last live step
	dumps          []string

	publishing errgroup.Group
	stop       context.CancelFunc
	mutex      sync.Mutex
	folders    []published
	early      int             // publishers that the network ended
	reasons    map[string]bool // what they said
}

func newBehind(t *testing.T) *behind {
	t.Helper()
	stream, natsURL := separateNATS(t)
	engine, dsn := separateEngine(t)
	data := t.TempDir()
	b := &behind{
		nats: openNetwork(t, stream.address), database: openNetwork(t, engine.address),
		writers: newTwoWriters(t, liveRun), reasons: map[string]bool{}, js: program.ConnectStream(t, natsURL),
		direct: &program.Up{
			Setting:  program.Setting{Data: data, Env: []string{"TENSORTAP_NATS=" + natsURL, "TENSORTAP_CLICKHOUSE=" + dsn}},
			Endpoint: system.Endpoint{Folder: system.Folder(data), NATS: natsURL, ClickHouse: dsn, Reader: dsn},
		},
	}
	for _, name := range []string{"D_tp_golden", "B14_nan_l2_mlp_step1_mix", "A_llama_L1_md5"} {
		b.dumps = append(b.dumps, recorded.Unpack(t, name))
	}
	b.system = runSystem(t, func(c *system.Config) {
		c.NATS = strings.Replace(natsURL, stream.address, b.nats.Address(), 1)
		c.ClickHouse = strings.Replace(dsn, engine.address, b.database.Address(), 1)
		c.AckWait = 3 * time.Second // after which the stream sends again what was lost on its way
		c.Serve = system.ServeRequest{Spool: b.writers.root, Tell: func(string) {}}
	})
	return b
}

func openNetwork(tb testing.TB, server string) *network.Link {
	tb.Helper()
	l, err := network.Open(context.WithoutCancel(tb.Context()), server)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := l.Close(); err != nil {
			tb.Error(err)
		}
	})
	return l
}

func (b *behind) set(f network.Fault) {
	b.nats.Set(f)
	b.database.Set(f)
}

// begin publishes folders one after the other from now on.
func (b *behind) begin(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	b.stop = stop
	b.publishing.Go(func() error {
		for i := 0; ctx.Err() == nil; i++ {
			dump := published{b.dumps[i%len(b.dumps)], fmt.Sprintf("folder %d", i)}
			if err := b.publish(ctx, dump); err != nil {
				return err
			}
			select {
			case <-time.After(loadEvery):
			case <-ctx.Done():
			}
		}
		return nil
	})
	t.Cleanup(func() {
		stop()
		_ = b.publishing.Wait()
	})
	b.advance(t, "the network is good")
}

// publish publishes the folder until that has succeeded. A publisher may end where the network is bad, if it says so.
func (b *behind) publish(ctx context.Context, dump published) error {
	for {
		err := b.tryPublish(context.WithoutCancel(ctx), dump)
		b.mutex.Lock()
		if err == nil {
			b.folders = append(b.folders, dump)
			b.mutex.Unlock()
			return nil
		}
		b.early++
		b.reasons[err.Error()] = true
		b.mutex.Unlock()
		if !program.SystemAway(err.Error()) {
			return fmt.Errorf("the publisher of %s ended: %w", dump.run, err)
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return nil
		}
	}
}

// tryPublish publishes, and ends a publisher that hangs. Its context has no deadline, as in the command: the client of NATS would
// wait until the deadline for each answer.
func (b *behind) tryPublish(ctx context.Context, dump published) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	hangs := time.AfterFunc(2*program.Patience, func() { cancel(errors.New("it hangs")) })
	defer hangs.Stop()
	client, err := system.ConnectStream(b.system.endpoint, time.Now)
	if err != nil {
		return err
	}
	defer client.Close()
	request := system.PublishRequest{Path: dump.dir, Run: dump.run, Labels: map[string]string{}}
	_, err = client.Publish(ctx, msprobe.Tool(), request, func(int64, int64) {})
	return errors.Join(err, context.Cause(ctx))
}

// await waits for the condition while the live run goes on.
func (b *behind) await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	err := program.Await(2*program.Patience, what, func() bool {
		if time.Since(b.wrote) > loadEvery {
			b.writers.write(1)
			b.wrote = time.Now()
		}
		return holds()
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, b.system.log)
	}
}

// live waits that long while the live run goes on.
func (b *behind) live(t *testing.T, patience time.Duration) {
	t.Helper()
	end := time.Now().Add(patience)
	b.await(t, "time to pass", func() bool { return time.Now().After(end) })
}

// advance returns when another folder is published, and all that the stream has by then is stored.
func (b *behind) advance(t *testing.T, what string) {
	t.Helper()
	before := b.count()
	b.await(t, "a folder to be published: "+what, func() bool { return b.count() > before })
	stream, err := b.js.Stream(t.Context(), pipelines.StreamName)
	if err != nil {
		t.Fatal(err)
	}
	last := stream.CachedInfo().State.LastSeq
	for _, consumer := range []string{"clickhouse", "parquet"} {
		b.await(t, consumer+" to have all: "+what, func() bool {
			p, err := pipelines.ConsumerProgress(t.Context(), b.js, consumer)
			return err == nil && p.StoredUpTo >= last
		})
	}
}

func (b *behind) count() int {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return len(b.folders)
}

// requireAllOnce ends who publishes, stops the system, and checks that stream, tables and archive hold each row of the folders and of the
// live run once.
func (b *behind) requireAllOnce(t *testing.T) {
	t.Helper()
	b.stop()
	for _, s := range b.writers.writers {
		s.Close()
	}
	if err := b.publishing.Wait(); err != nil {
		t.Error(err)
	}
	program.Served(t, b.writers.root)
	awaitStored(t, b.js, "clickhouse", "parquet")
	b.writers.requireAll(t, b.direct, liveRun)
	if rows := b.direct.Query(t, "SELECT run, rank, explanation FROM tap.completeness WHERE NOT complete LIMIT 5"); len(rows) > 0 {
		t.Errorf("completeness: %v", rows)
	}
	stream, err := tallyStream(t.Context(), b.js)
	database, databaseErr := tallyDatabase(t.Context(), b.direct.Endpoint.ClickHouse)
	sources, sourcesErr := tallySources(t.Context(), b.folders)
	b.system.stop()
	files, filesErr := tallyArchive(t.Context(), b.system.endpoint.Archive)
	if err := errors.Join(err, databaseErr, sourcesErr, filesErr); err != nil {
		t.Fatal(err)
	}
	requireTallies(t, stream, map[string]*tally{"database": database, "archive": files})
	requireTallies(t, sources, map[string]*tally{"folders, as in the stream": stream.without(liveRun, sources)})
	t.Logf("%d folders, %d live steps, %d messages, %d of them twice", len(b.folders), b.writers.step, stream.messages, stream.repeated)
}

// without leaves one run out of the tally. Definitions belong to no run, so it takes them from the other tally.
func (t *tally) without(run string, other *tally) *tally {
	rest := newTally()
	for key, sum := range t.batches {
		if key.id.RunID != schemas.RunID(run) {
			rest.batches[key] = sum
		}
	}
	for kind, rows := range other.definitions {
		rest.definitions[kind] = map[uint64]bool{}
		for row := range rows {
			if t.definitions[kind][row] {
				rest.definitions[kind][row] = true
			}
		}
	}
	return rest
}
