package pipelines_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

const nodes = 3

// cluster is NATS servers that keep replicas for each other.
type cluster struct {
	options [nodes]*server.Options
	servers [nodes]*server.Server
}

// startCluster starts them one after the other. Each has as many routes as the others are, though those of the first lead nowhere:
// by their number a server knows how large the cluster will be.
func startCluster(tb testing.TB) (*cluster, *stream) {
	tb.Helper()
	c := &cluster{}
	var addresses []string
	for i := range nodes {
		routes := []*url.URL{}
		for j := range nodes - 1 {
			routes = append(routes, &url.URL{Scheme: "nats-route", Host: fmt.Sprintf("127.0.0.1:%d", 1+j)})
		}
		for j, before := range c.servers[:i] {
			routes[j].Host = before.ClusterAddr().String()
		}
		c.options[i] = &server.Options{
			ServerName: fmt.Sprint("node", i), JetStream: true, StoreDir: tb.TempDir(), Host: "127.0.0.1", Port: -1, NoLog: true, NoSigs: true,
			MaxPayload: schemas.MaxMessageBytes + 64<<10, JetStreamMaxStore: 8 << 30, Routes: routes,
			Cluster: server.ClusterOpts{Name: "three", Host: "127.0.0.1", Port: -1},
		}
		c.start(tb, i)
		c.options[i].Port, c.options[i].Cluster.Port = port(c.servers[i].Addr().String()), c.servers[i].ClusterAddr().Port
		addresses = append(addresses, c.servers[i].ClientURL())
	}
	tb.Cleanup(func() {
		for _, s := range c.servers {
			s.Shutdown()
		}
	})
	conn, err := nats.Connect(strings.Join(addresses, ","), nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond), nats.Timeout(time.Minute))
	must(tb, err)
	tb.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	must(tb, err)
	return c, &stream{conn: conn, js: js}
}

func port(address string) (number int) {
	_, _ = fmt.Sscan(address[strings.LastIndexByte(address, ':')+1:], &number)
	return number
}

func (c *cluster) start(tb testing.TB, i int) {
	tb.Helper()
	made, err := server.NewServer(c.options[i].Clone())
	must(tb, err)
	made.Start()
	if !made.ReadyForConnections(time.Minute) {
		tb.Fatalf("%s is not ready after a minute", c.options[i].ServerName)
	}
	c.servers[i] = made
}

// restartLeader stops the server that leads the stream, and starts it again once another one leads.
func (c *cluster) restartLeader(tb testing.TB, s *stream) {
	tb.Helper()
	leader := c.leader(tb, s, -1)
	c.servers[leader].Shutdown()
	c.servers[leader].WaitForShutdown()
	c.leader(tb, s, leader)
	c.start(tb, leader)
	eventually(tb, "the stream is whole on every server", func() bool { return isWhole(tb, s, pipelines.StreamName) })
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

func TestALeaderThatEndsTwiceCostsNothingAndDoublesNothing(t *testing.T) {
	t.Parallel()
	const messages = 400
	c, s := startCluster(t)
	cfg := testConfig(t)
	prepare(t, s, cfg)
	replicate(t, s)
	sink := newRecorder()
	_, stop := deliver(t, s, cfg, sink)
	p := newPublisher(t, s, cfg)
	var group errgroup.Group
	group.Go(func() error {
		for i := range messages {
			if err := p.Publish(t.Context(), steps(t, identity(i), 3)); err != nil {
				return err
			}
			if i%8 == 0 {
				if err := p.Flush(t.Context()); err != nil {
					return err
				}
			}
		}
		return p.Flush(t.Context())
	})
	for n := range 2 {
		eventually(t, "messages are stored", func() bool { return sink.len() > (n+1)*messages/4 })
		c.restartLeader(t, s)
	}
	must(t, group.Wait())
	eventually(t, "all is stored", func() bool { return sink.len() == messages })
	eventually(t, "all is acknowledged", settled(t, s))
	if err := stop(); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	kept, err := s.js.Stream(t.Context(), pipelines.StreamName)
	must(t, err)
	if n := kept.CachedInfo().State.Msgs; n != messages {
		t.Errorf("the stream has %d messages, want %d", n, messages)
	}
}
