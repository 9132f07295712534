package natscluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/schemas"
)

// nodeServer is the argument with which a test binary is a node of a cluster.
const nodeServer = "test-nats-node"

// Serve lets a test binary be a node of a cluster: TestMain calls it first. It returns only when that is not asked for.
func Serve() {
	if len(os.Args) < 3 || os.Args[1] != nodeServer {
		return
	}
	if err := beNode(os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Node is a NATS server of a cluster, a process of its own, that can be killed and started again at its place.
type Node struct {
	Name        string
	Dir         string
	Port        int
	ClusterPort int // 0 for a server by itself
	Routes      []string

	process *exec.Cmd
}

// beNode is the node until it is stopped.
func beNode(text string) error {
	var n Node
	if err := json.Unmarshal([]byte(text), &n); err != nil {
		return err
	}
	routes := make([]*url.URL, len(n.Routes))
	for i, host := range n.Routes {
		routes[i] = &url.URL{Scheme: "nats-route", Host: host}
	}
	options := &server.Options{
		ServerName: n.Name, JetStream: true, StoreDir: n.Dir, Host: "127.0.0.1", Port: n.Port, NoLog: true,
		MaxPayload: schemas.MaxMessageBytes + 64<<10, JetStreamMaxStore: 100 << 30, Routes: routes,
	}
	if n.ClusterPort == 0 { // by itself: as deploy/nats/nats.conf has it
		options.SyncAlways = true
	} else {
		// The address that it tells others leads nowhere: they are to use the routes that they were given.
		options.Cluster = server.ClusterOpts{Name: "three", Host: "127.0.0.1", Port: n.ClusterPort, Advertise: "127.0.0.1:3"}
	}
	made, err := server.NewServer(options)
	if err != nil {
		return err
	}
	made.Start()
	if !made.ReadyForConnections(time.Minute) {
		return fmt.Errorf("%s is not ready after a minute", n.Name)
	}
	if _, err := fmt.Fprintln(os.Stdout, "ready"); err != nil {
		return err
	}
	made.WaitForShutdown()
	return nil
}

// Start starts the node and returns once it is ready.
func (n *Node) Start(tb testing.TB) {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	text, err := json.Marshal(n)
	if err != nil {
		tb.Fatal(err)
	}
	var said testbed.Buffer
	n.process = exec.CommandContext(context.WithoutCancel(tb.Context()), self, nodeServer, string(text)) //nolint:gosec // the test itself
	n.process.Stdout, n.process.Stderr = &said, &said
	n.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := n.process.Start(); err != nil {
		tb.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); !strings.Contains(said.String(), "ready"); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			tb.Fatalf("%s is not ready: %s", n.Name, said.String())
		}
	}
}

// PID is the process of a node that was started.
func (n *Node) PID() int { return n.process.Process.Pid }

// Signal sends the process a signal.
func (n *Node) Signal(tb testing.TB, s os.Signal) {
	tb.Helper()
	if err := n.process.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		tb.Error(err)
	}
}

// End has the signal end the process, if the node was started.
func (n *Node) End(tb testing.TB, by os.Signal) {
	tb.Helper()
	if n.process == nil {
		return
	}
	n.Signal(tb, by)
	_ = n.process.Wait() // ended by a signal, which is an error
}
