// Package natscluster runs a cluster of NATS servers for tests: real processes that can be killed, frozen and split off.
package natscluster

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/tensortap/tensortap/internal/dev/network"
	"github.com/tensortap/tensortap/internal/dev/testbed"
)

// Nodes is how many servers a cluster has.
const Nodes = 3

// Cluster is servers that keep replicas for each other. What the others send the first one passes through a network, so
// that it can be split off.
type Cluster struct {
	Nodes [Nodes]*Node
	First *network.Link
	URL   [Nodes]string
}

// StartOne starts a server by itself, which has each message on the disk before it acknowledges it.
func StartOne(tb testing.TB) *Node {
	tb.Helper()
	n := &Node{Name: "alone", Dir: tb.TempDir(), Port: testbed.FreePorts(tb, 1)}
	n.Start(tb)
	tb.Cleanup(func() { n.End(tb, os.Kill) })
	return n
}

// URL is where clients reach the node.
func (n *Node) URL() string { return fmt.Sprintf("nats://127.0.0.1:%d", n.Port) }

// Start starts the servers one after the other.
func Start(tb testing.TB) *Cluster {
	tb.Helper()
	c := StartWithoutLast(tb)
	c.Nodes[Nodes-1].Start(tb)
	return c
}

// StartWithoutLast starts a cluster that its last server has yet to join. Each has as many routes as the others are, though
// those of the first lead nowhere: by their number a server knows how large the cluster will be.
func StartWithoutLast(tb testing.TB) *Cluster {
	tb.Helper()
	c := &Cluster{}
	var err error
	var addresses []string
	for i := range Nodes {
		n := &Node{Name: fmt.Sprint("node", i), Dir: tb.TempDir(), Port: testbed.FreePorts(tb, 1), ClusterPort: testbed.FreePorts(tb, 1), Routes: []string{"127.0.0.1:1", "127.0.0.1:2"}}
		if i == 0 {
			if c.First, err = network.Open(context.WithoutCancel(tb.Context()), fmt.Sprintf("127.0.0.1:%d", n.ClusterPort)); err != nil {
				tb.Fatal(err)
			}
		}
		addresses = append(addresses, fmt.Sprintf("127.0.0.1:%d", n.ClusterPort))
		addresses[0] = c.First.Address()
		copy(n.Routes, addresses[:i])
		c.Nodes[i], c.URL[i] = n, n.URL()
		if i < Nodes-1 {
			n.Start(tb)
		}
	}
	tb.Cleanup(func() {
		for _, n := range c.Nodes {
			n.End(tb, os.Kill)
		}
		if err := c.First.Close(); err != nil {
			tb.Error(err)
		}
	})
	return c
}
