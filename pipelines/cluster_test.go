package pipelines_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/internal/dev/natscluster"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

const nodes = natscluster.Nodes

// cluster is NATS servers that keep replicas for each other.
type cluster struct{ *natscluster.Cluster }

func startCluster(tb testing.TB) (*cluster, *stream) {
	tb.Helper()
	c := &cluster{natscluster.Start(tb)}
	return c, c.connect(tb, c.URL[:]...)
}

// connect is a client of some of the nodes.
func (c *cluster) connect(tb testing.TB, urls ...string) *stream {
	tb.Helper()
	conn, err := nats.Connect(strings.Join(urls, ","), nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond), nats.Timeout(time.Minute), nats.IgnoreDiscoveredServers())
	must(tb, err)
	tb.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	must(tb, err)
	return &stream{conn: conn, js: js}
}

// restartLeader ends the server that leads the stream by the signal, and starts it again once another one leads.
func (c *cluster) restartLeader(tb testing.TB, s *stream, by os.Signal) {
	tb.Helper()
	leader := c.leader(tb, s, -1)
	c.Nodes[leader].End(tb, by)
	c.leader(tb, s, leader)
	c.Nodes[leader].Start(tb)
	eventually(tb, "the stream is whole on every server", func() bool { return isWhole(tb, s, pipelines.StreamName) })
}

// lead has the first server lead the stream.
func (c *cluster) lead(tb testing.TB, s *stream) {
	tb.Helper()
	eventually(tb, "the first server leads", func() bool {
		if c.leader(tb, s, -1) == 0 {
			return true
		}
		_, _ = s.conn.Request("$JS.API.STREAM.LEADER.STEPDOWN."+pipelines.StreamName, []byte(`{"placement":{"preferred":"node0"}}`), 5*time.Second)
		return c.leader(tb, s, -1) == 0
	})
}

// leader is the server that leads the stream, when that is another than the one that did.
func (c *cluster) leader(tb testing.TB, s *stream, but int) (found int) {
	tb.Helper()
	eventually(tb, "the stream has a leader", func() bool {
		ctx, cancel := context.WithTimeout(tb.Context(), 5*time.Second)
		defer cancel()
		kept, err := s.js.Stream(ctx, pipelines.StreamName)
		if err != nil || kept.CachedInfo().Cluster == nil {
			return false
		}
		_, err = fmt.Sscanf(kept.CachedInfo().Cluster.Leader, "node%d", &found)
		return err == nil && found != but
	})
	return found
}

// keptByAll is what is to be kept by all servers of a cluster.
func keptByAll() []string {
	return []string{pipelines.StreamName, pipelines.DeadStreamName, "KV_" + pipelines.SourceBucket, "KV_" + pipelines.LeaseBucket}
}

// replicate has all servers keep the streams, as an administrator would.
func replicate(tb testing.TB, s *stream) {
	tb.Helper()
	for _, name := range keptByAll() {
		eventually(tb, name+" has replicas", func() bool {
			kept, err := s.js.Stream(tb.Context(), name)
			if err != nil {
				return false
			}
			next := kept.CachedInfo().Config
			next.Replicas = nodes
			_, err = s.js.UpdateStream(tb.Context(), next)
			return err == nil
		})
		eventually(tb, name+" is whole on every server", func() bool { return isWhole(tb, s, name) })
	}
}

// isWhole says whether the others have all that the leader has. Before, its end would leave too few that know enough.
func isWhole(tb testing.TB, s *stream, name string) bool {
	tb.Helper()
	kept, err := s.js.Stream(tb.Context(), name)
	if err != nil || kept.CachedInfo().Cluster == nil {
		return false
	}
	current := 0
	for _, peer := range kept.CachedInfo().Cluster.Replicas {
		if peer.Current {
			current++
		}
	}
	return current == nodes-1
}

// prepare repeats what fails while the cluster has no leader.
func prepare(tb testing.TB, s *stream, cfg pipelines.Config) {
	tb.Helper()
	var last error
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		last = pipelines.Prepare(tb.Context(), s.js, cfg)
		if last == nil {
			_, last = pipelines.OpenLeases(tb.Context(), s.js, "one")
		}
		if last == nil {
			return
		}
	}
	tb.Fatal(last)
}

func TestReplicasThatAnAdministratorSetAreKept(t *testing.T) {
	t.Parallel()
	_, s := startCluster(t)
	cfg := testConfig(t)
	prepare(t, s, cfg)
	replicate(t, s)
	prepare(t, s, cfg)
	for _, name := range keptByAll() {
		kept, err := s.js.Stream(t.Context(), name)
		must(t, err)
		if n := kept.CachedInfo().Config.Replicas; n != nodes {
			t.Errorf("%s has %d replicas after the next start, want %d", name, n, nodes)
		}
	}
}

func TestReplicasThatAreAskedForAreMade(t *testing.T) {
	t.Parallel()
	_, s := startCluster(t)
	cfg := testConfig(t)
	prepare(t, s, cfg)
	for _, want := range []int{nodes, 2} { // fewer are no reason to have fewer
		cfg.Stream.Replicas = want
		prepare(t, s, cfg)
		for _, name := range keptByAll() {
			kept, err := s.js.Stream(t.Context(), name)
			must(t, err)
			if n := kept.CachedInfo().Config.Replicas; n != nodes {
				t.Errorf("%s has %d replicas where %d were asked for last, want %d", name, n, want, nodes)
			}
		}
	}
	cfg.Stream.Replicas = nodes + 1
	requireTooFew(t, pipelines.Prepare(t.Context(), s.js, cfg), "4 replicas need 4 NATS servers")
}

func TestOneServerKeepsNoReplicas(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	for _, there := range []bool{false, true} {
		s := startStream(t)
		if there {
			must(t, pipelines.Prepare(t.Context(), s.js, cfg))
		}
		asked := cfg
		asked.Stream.Replicas = nodes
		requireTooFew(t, pipelines.Prepare(t.Context(), s.js, asked), "3 replicas need 3 NATS servers")
	}
}

func requireTooFew(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) || !strings.Contains(err.Error(), "stream "+pipelines.StreamName) {
		t.Errorf("Prepare with too few servers: %v, want %q and the stream", err, text)
	}
}

func TestALeaderThatEndsTwiceCostsNothingAndDoublesNothing(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]os.Signal{"stopped": os.Interrupt, "killed": os.Kill} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, s := startCluster(t)
			load := c.load(t, s, s)
			for n := range 2 {
				eventually(t, "messages are stored", func() bool { return load.sink.len() > (n+1)*100 })
				c.restartLeader(t, s, by)
			}
			load.requireAllOnce(t, s)
		})
	}
}

// TestTheSmallerSideOfASplitClusterAcknowledgesNothing splits the leader off while messages are published on both sides.
func TestTheSmallerSideOfASplitClusterAcknowledgesNothing(t *testing.T) {
	t.Parallel()
	c, all := startCluster(t)
	smaller, larger := c.connect(t, c.URL[0]), c.connect(t, c.URL[1:]...)
	load := c.load(t, larger, larger, smaller)
	eventually(t, "messages are stored", func() bool { return load.sink.len() > 100 })
	c.lead(t, all)
	must(t, c.First.Down())
	c.leader(t, larger, 0)
	stored := load.sink.len()
	eventually(t, "the larger side goes on", func() bool { return load.sink.len() > stored+100 })
	asked, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	refused := steps(t, schemas.Identity{RunID: schemas.RunID("refused"), Epoch: 1}, 1)
	if ack, err := smaller.js.PublishMsg(asked, &nats.Msg{Subject: refused.Subject(), Header: refused.NATSHeader(), Data: refused.Data}); err == nil {
		t.Errorf("the smaller side acknowledges: %+v", ack)
	}
	must(t, c.First.Up(context.WithoutCancel(t.Context())))
	load.requireAllOnce(t, larger)
}

// load is messages that are published, until that is enough, and delivered.
type load struct {
	enough   atomic.Bool
	messages atomic.Int64
	sink     *recorder
	stop     func() error
	group    errgroup.Group
}

// load publishes to a cluster by several clients, and delivers by one.
func (c *cluster) load(tb testing.TB, s *stream, publishers ...*stream) *load {
	tb.Helper()
	l, cfg := &load{sink: newRecorder()}, testConfig(tb)
	prepare(tb, s, cfg)
	replicate(tb, s)
	_, l.stop = deliver(tb, s, cfg, l.sink)
	tb.Cleanup(func() {
		l.enough.Store(true)
		_ = l.group.Wait() // seen where all is to be stored
	})
	for rank, from := range publishers {
		p := newPublisher(tb, from, cfg)
		l.group.Go(func() error { return l.publish(tb, p, uint32(rank)) })
	}
	return l
}

// publish sends a few messages at a time.
func (l *load) publish(tb testing.TB, p *pipelines.Publisher, rank uint32) error {
	tb.Helper()
	const few, every = 8, 20 * time.Millisecond
	for batch := 0; !l.enough.Load(); batch += few {
		var some list
		for i := range few {
			id := identity(batch + i)
			id.Rank = rank
			some = append(some, steps(tb, id, 3))
		}
		l.messages.Add(few)
		if err := publishAll(tb.Context(), p, some); err != nil {
			return err
		}
		time.Sleep(every)
	}
	return nil
}

// requireAllOnce waits until the publishers have ended, and checks that each message is stored, and in the stream once.
func (l *load) requireAllOnce(tb testing.TB, s *stream) {
	tb.Helper()
	l.enough.Store(true)
	must(tb, l.group.Wait())
	messages := int(l.messages.Load())
	eventually(tb, "all is stored", func() bool { return l.sink.len() == messages })
	eventually(tb, "all is acknowledged", settled(tb, s))
	if err := l.stop(); err != nil && !errors.Is(err, context.Canceled) {
		tb.Error(err)
	}
	kept, err := s.js.Stream(tb.Context(), pipelines.StreamName)
	must(tb, err)
	if n := kept.CachedInfo().State.Msgs; n != uint64(messages) {
		tb.Errorf("the stream has %d messages, want %d", n, messages)
	}
}
