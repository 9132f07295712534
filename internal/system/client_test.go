package system

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/internal/embedded"
)

// slowly forwards one connection to the server, and lets the first bytes of each side wait.
func slowly(tb testing.TB, listener net.Listener, server string, wait time.Duration) {
	tb.Helper()
	client, err := listener.Accept()
	if err != nil {
		return // the test is over
	}
	upstream, err := net.Dial("tcp", server) //nolint:noctx // ends with the test
	if err != nil {
		tb.Error(err)
		return
	}
	tb.Cleanup(func() { _, _ = client.Close(), upstream.Close() })
	pass := func(to, from net.Conn) {
		first := make([]byte, 4096)
		n, err := from.Read(first)
		time.Sleep(wait) // as on a machine that has no time for either
		if err == nil {
			_, _ = to.Write(first[:n])
			_, _ = io.Copy(to, from)
		}
	}
	go pass(client, upstream)
	go pass(upstream, client)
}

// TestABusyMachineHasTimeToConnect has client and server wait for each other longer than NATS would by default.
func TestABusyMachineHasTimeToConnect(t *testing.T) {
	t.Parallel()
	cfg := embedded.DefaultNATSConfig(t.TempDir())
	cfg.Token = "secret"
	server, err := embedded.NewNATS(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var group errgroup.Group
	group.Go(func() error { return server.Run(t.Context()) })
	t.Cleanup(func() {
		if err := group.Wait(); err != nil {
			t.Error(err)
		}
	})
	select {
	case <-server.Ready():
	case <-time.After(time.Minute):
		t.Fatal("the server is not ready after a minute")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // at once
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	_, address, _ := strings.Cut(server.URL(), "@")
	go slowly(t, listener, address, 1300*time.Millisecond)
	client, err := ConnectStream(Endpoint{NATS: "nats://secret@" + listener.Addr().String()}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	client.Close()
}
