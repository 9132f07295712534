package roles

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/e2e/internal/servers"
	"github.com/tensortap/tensortap/internal/dev/natscluster"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// fleet is servers elsewhere, and what is published to them.
type fleet struct {
	*natscluster.Cluster
	js      jetstream.JetStream
	engines []*engine

	published atomic.Int64 // batches of each rank that the stream has acknowledged
	enough    atomic.Bool
	loading   errgroup.Group
}

// engine is a ClickHouse server elsewhere.
type engine struct {
	dsn  string
	conn driver.Conn
}

// Each batch has so many rows, and a rank of each shard is among the ranks.
const (
	rowsOfBatch = 3
	ranks       = 24
)

func startFleet(tb testing.TB, engines int) *fleet {
	tb.Helper()
	f := &fleet{Cluster: natscluster.Start(tb)}
	// The first may be split off.
	conn, err := nats.Connect(strings.Join(f.URL[1:], ","), nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond), nats.Timeout(5*time.Second),
		nats.IgnoreDiscoveredServers(), nats.PingInterval(time.Second))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(conn.Close)
	if f.js, err = jetstream.New(conn); err != nil {
		tb.Fatal(err)
	}
	for range engines {
		started := servers.StartEngine(tb)
		f.engines = append(f.engines, &engine{started.DSN, started.Open(tb)})
	}
	return f
}

// servers are the flags that name the servers.
func (f *fleet) servers(e *engine) []string {
	return []string{"--nats", strings.Join(f.URL[:], ","), "--clickhouse", e.dsn}
}

// start begins a role, and returns once it has said that much.
func start(tb testing.TB, data, said string, args ...string) *program.Up {
	tb.Helper()
	return servers.Begin(tb, program.Command(tb, program.Setting{Data: data}, args...), said)
}

// consume starts one that fills the tables of an engine.
func (f *fleet) consume(tb testing.TB, e *engine, args ...string) *program.Up {
	tb.Helper()
	return f.consumeSaying(tb, "stores events", e, args...)
}

func (f *fleet) consumeSaying(tb testing.TB, said string, e *engine, args ...string) *program.Up {
	tb.Helper()
	all := append([]string{"consume", "--store", "tables", "--replicas", "3", "-v"}, f.servers(e)...)
	return start(tb, tb.TempDir(), said, append(all, args...)...)
}

// consumeThroughAnElection starts one while two nodes of three hang, so that nobody leads.
func (f *fleet) consumeThroughAnElection(tb testing.TB, e *engine, args ...string) *program.Up {
	tb.Helper()
	hanging := f.Nodes[1:]
	for _, n := range hanging {
		n.Signal(tb, syscall.SIGSTOP)
	}
	role := f.consumeSaying(tb, "asking again", e, args...)
	for _, n := range hanging {
		n.Signal(tb, syscall.SIGCONT)
	}
	await(tb, "a leader", func() bool { return strings.Contains(role.Stdout.String(), "stores events") })
	return role
}

// load publishes a batch of each rank now and then, until that is enough.
func (f *fleet) load(tb testing.TB, every time.Duration) {
	tb.Helper()
	cfg := pipelines.DefaultConfig()
	cfg.Publish.SpillDir, cfg.Publish.AckTimeout = tb.TempDir(), 3*time.Second
	p, err := pipelines.NewPublisher(cfg.Publish, f.js, time.Now, nil)
	if err != nil {
		tb.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(tb.Context()))
	f.loading.Go(func() error {
		for batch := uint64(0); !f.enough.Load(); batch++ {
			for rank := range uint32(ranks) {
				m, err := stepsOf(schemas.Identity{RunID: schemas.RunID("load"), Rank: rank, Epoch: 1, Batch: batch})
				if err == nil {
					err = p.Publish(ctx, m)
				}
				if err != nil {
					return err
				}
			}
			if err := p.Flush(ctx); err != nil {
				return err
			}
			f.published.Add(1)
			time.Sleep(every)
		}
		return nil
	})
	tb.Cleanup(func() {
		stop()
		f.enough.Store(true)
		_ = f.loading.Wait() // seen where all is to be stored
	})
}

func stepsOf(id schemas.Identity) (schemas.Message, error) {
	b := schemas.NewBuilder[schemas.StepRow]()
	for range rowsOfBatch {
		b.Append(&schemas.StepRow{
			RunID: id.RunID, Rank: id.Rank, Epoch: id.Epoch, Batch: id.Batch, EventTimeNs: time.Now().UnixNano(), Step: uint32(id.Batch), //nolint:gosec // few
		})
	}
	return b.Message(id)
}

// stored is how many batches of the load the tables have of that rank of which they have fewest, and how many of all ranks
// they do not have once.
func (e *engine) stored(ctx context.Context) (batches, wrong uint64, err error) {
	err = e.conn.QueryRow(ctx, fmt.Sprintf("SELECT if(count() = %d, min(batches), 0), toUInt64(sum(others)) FROM ("+
		"SELECT rank, count() AS batches, countIf(n != %d) AS others FROM ("+
		"SELECT rank, count() AS n FROM tap_store.step WHERE run_id = %d GROUP BY rank, epoch, batch) GROUP BY rank)",
		ranks, rowsOfBatch, schemas.RunID("load"))).Scan(&batches, &wrong)
	return batches, wrong, err
}

// caughtUp waits until the tables of each engine have all that is published by now, and returns how long that took.
func (f *fleet) caughtUp(tb testing.TB) time.Duration {
	tb.Helper()
	begin, want := time.Now(), uint64(f.published.Load())+1 //nolint:gosec // a count
	for _, e := range f.engines {
		var have uint64
		err := program.Await(3*time.Minute, "the tables to have all that is published", func() bool {
			time.Sleep(100 * time.Millisecond)
			var err error
			have, _, err = e.stored(tb.Context())
			return err == nil && have >= want
		})
		if err != nil {
			tb.Fatalf("%v: %d of %d batches of some rank", err, have, want)
		}
	}
	return time.Since(begin)
}

// requireAllOnce ends the load, and checks that each engine has each batch once.
func (f *fleet) requireAllOnce(tb testing.TB) {
	tb.Helper()
	f.enough.Store(true)
	if err := f.loading.Wait(); err != nil {
		tb.Fatal(err)
	}
	want := uint64(f.published.Load()) //nolint:gosec // a count
	for i, e := range f.engines {
		var have, wrong uint64
		await(tb, "all batches", func() bool {
			time.Sleep(50 * time.Millisecond)
			var err error
			have, wrong, err = e.stored(tb.Context())
			return err == nil && have >= want
		})
		if have != want || wrong > 0 {
			tb.Errorf("engine %d has %d batches of each rank, want %d; %d have other than %d rows", i, have, want, wrong, rowsOfBatch)
		}
	}
}

// leader is the node that leads the stream of events.
func (f *fleet) leader(tb testing.TB) (found int) {
	tb.Helper()
	await(tb, "a leader of the stream", func() bool {
		ctx, cancel := context.WithTimeout(tb.Context(), 2*time.Second)
		defer cancel()
		kept, err := f.js.Stream(ctx, pipelines.StreamName)
		if err != nil || kept.CachedInfo().Cluster == nil {
			return false
		}
		_, err = fmt.Sscanf(kept.CachedInfo().Cluster.Leader, "node%d", &found)
		return err == nil
	})
	return found
}

// whole waits until all nodes have all of the stream: before, the end of one more would leave too few that know enough.
func (f *fleet) whole(tb testing.TB) {
	tb.Helper()
	await(tb, "all nodes to have the stream", func() bool {
		ctx, cancel := context.WithTimeout(tb.Context(), 2*time.Second)
		defer cancel()
		kept, err := f.js.Stream(ctx, pipelines.StreamName)
		if err != nil || kept.CachedInfo().Cluster == nil {
			return false
		}
		current := 0
		for _, peer := range kept.CachedInfo().Cluster.Replicas {
			if peer.Current {
				current++
			}
		}
		return current == natscluster.Nodes-1
	})
}

func freeze(tb testing.TB, role *program.Up) {
	tb.Helper()
	if err := role.Cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		tb.Fatal(err)
	}
}

func thaw(tb testing.TB, role *program.Up) {
	tb.Helper()
	if err := role.Cmd.Process.Signal(syscall.SIGCONT); err != nil {
		tb.Fatal(err)
	}
}

// killLeader kills the node that leads, and starts it again once the tables have caught up.
func (f *fleet) killLeader(tb testing.TB) time.Duration {
	tb.Helper()
	f.whole(tb)
	n := f.Nodes[f.leader(tb)]
	n.End(tb, os.Kill)
	took := f.caughtUp(tb)
	n.Start(tb)
	return took
}

// consumerLike is a consumer of the stream whose name begins so; empty where there is none.
func consumerLike(tb testing.TB, js jetstream.JetStream, prefix string) (found string) {
	tb.Helper()
	kept, err := js.Stream(tb.Context(), pipelines.StreamName)
	if err != nil {
		tb.Fatal(err)
	}
	list := kept.ConsumerNames(tb.Context())
	for name := range list.Name() {
		if strings.HasPrefix(name, prefix) {
			found = name
		}
	}
	return found
}
