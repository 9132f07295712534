package pipelines_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
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

// nodeServer is the argument with which the test binary is a node of a cluster.
const nodeServer = "test-nats-node"

// node is a NATS server of a cluster, a process of its own, that can be killed and started again at its place.
type node struct {
	Name              string
	Dir               string
	Port, ClusterPort int
	Routes            []string

	process *exec.Cmd
}

// beNode is the node until it is stopped.
func beNode(text string) error {
	var n node
	if err := json.Unmarshal([]byte(text), &n); err != nil {
		return err
	}
	routes := make([]*url.URL, len(n.Routes))
	for i, host := range n.Routes {
		routes[i] = &url.URL{Scheme: "nats-route", Host: host}
	}
	made, err := server.NewServer(&server.Options{
		ServerName: n.Name, JetStream: true, StoreDir: n.Dir, Host: "127.0.0.1", Port: n.Port, NoLog: true,
		MaxPayload: schemas.MaxMessageBytes + 64<<10, JetStreamMaxStore: 8 << 30, Routes: routes,
		// The address that it tells others leads nowhere: they are to use the routes that they were given.
		Cluster: server.ClusterOpts{Name: "three", Host: "127.0.0.1", Port: n.ClusterPort, Advertise: "127.0.0.1:3"},
	})
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

func (n *node) start(tb testing.TB) {
	tb.Helper()
	self, err := os.Executable()
	must(tb, err)
	text, err := json.Marshal(n)
	must(tb, err)
	var said testbed.Buffer
	n.process = exec.CommandContext(context.WithoutCancel(tb.Context()), self, nodeServer, string(text)) //nolint:gosec // the test itself
	n.process.Stdout, n.process.Stderr = &said, &said
	n.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	must(tb, n.process.Start())
	eventually(tb, n.Name+" is ready", func() bool { return strings.Contains(said.String(), "ready") })
}

// end has the signal end the process.
func (n *node) end(tb testing.TB, by os.Signal) {
	tb.Helper()
	if err := n.process.Process.Signal(by); err != nil && !errors.Is(err, os.ErrProcessDone) {
		tb.Error(err)
	}
	_ = n.process.Wait() // ended by a signal, which is an error
}

// freePort is one that nobody listens on.
func freePort(tb testing.TB) int {
	tb.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(tb.Context(), "tcp", "127.0.0.1:0")
	must(tb, err)
	defer listener.Close() //nolint:errcheck // was never used
	address, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		tb.Fatal(listener.Addr())
	}
	return address.Port
}
