package network_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2/toxics"
	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/internal/dev/network"
	"github.com/tensortap/tensortap/internal/dev/testbed"
)

func TestMain(m *testing.M) { os.Exit(testbed.LeavesNothing(m)) }

// echo is a server that says what it hears, behind a network.
func echo(t *testing.T) *network.Link {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	var group errgroup.Group
	group.Go(func() error {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return nil //nolint:nilerr // closed: the end of the test
			}
			group.Go(func() error {
				_, _ = io.Copy(conn, conn)
				return conn.Close()
			})
		}
	})
	l, err := network.Open(context.WithoutCancel(t.Context()), listener.Addr().String())
	must(t, err)
	t.Cleanup(func() { must(t, errors.Join(l.Close(), listener.Close(), group.Wait())) })
	return l
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func dial(t *testing.T, l *network.Link) net.Conn {
	t.Helper()
	var dialer net.Dialer
	conn, err := dialer.DialContext(t.Context(), "tcp", l.Address())
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// say sends the text, and returns what comes back within the patience, or until the connection ends.
func say(t *testing.T, conn net.Conn, text []byte, patience time.Duration) (heard []byte, err error) {
	t.Helper()
	must(t, conn.SetDeadline(time.Now().Add(patience)))
	var sending errgroup.Group
	sending.Go(func() error { _, err := conn.Write(text); return err })
	heard = make([]byte, len(text))
	n, err := io.ReadFull(conn, heard)
	if err != nil {
		_ = conn.SetDeadline(time.Unix(1, 0)) // so that sending ends
	}
	_ = sending.Wait() // seen by what is heard
	return heard[:n], err
}

func TestEveryByteArrivesThroughABadNetwork(t *testing.T) {
	t.Parallel()
	l, text := echo(t), bytes.Repeat([]byte("0123456789"), 2000)
	for name, f := range map[string]network.Fault{
		"good":   {},
		"late":   {Toward: &toxics.LatencyToxic{Latency: 20, Jitter: 10}, Back: &toxics.LatencyToxic{Latency: 20, Jitter: 10}},
		"narrow": {Toward: &toxics.BandwidthToxic{Rate: 100}},
		"pieces": {Toward: &toxics.SlicerToxic{AverageSize: 100, SizeVariation: 50}, Back: &toxics.SlicerToxic{AverageSize: 100, SizeVariation: 50}},
	} {
		l.Set(f)
		conn := dial(t, l)
		for range 2 {
			if heard, err := say(t, conn, text, time.Minute); err != nil || !bytes.Equal(heard, text) {
				t.Errorf("%s: heard %d bytes of %d: %v", name, len(heard), len(text), err)
			}
			l.Set(network.Fault{}) // the second time on a connection that lives on
		}
	}
	if n := l.Broken(); n != 0 {
		t.Errorf("%d connections broke off, want none", n)
	}
}

func TestALimitBreaksOffInTheMiddle(t *testing.T) {
	t.Parallel()
	l, text := echo(t), make([]byte, 1<<20)
	for _, resets := range []bool{false, true} {
		l.Set(network.Fault{Toward: &toxics.LimitDataToxic{Bytes: 1000}, Resets: resets})
		heard, err := say(t, dial(t, l), text, time.Minute)
		if len(heard) > 1000 || err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("resets %v: heard %d bytes, want 1000 at most, and an end: %v", resets, len(heard), err)
		}
		if resets && !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("the connection was not reset: %v", err)
		}
	}
	for deadline := time.Now().Add(time.Minute); l.Broken() != 2; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d connections broke off, want 2", l.Broken())
		}
	}
}

func TestASilentNetworkBreaksOffOnlyAsItEnds(t *testing.T) {
	t.Parallel()
	l, short := echo(t), 50*time.Millisecond
	conn := dial(t, l)
	if _, err := say(t, conn, []byte("hello"), time.Minute); err != nil {
		t.Fatal(err)
	}
	l.Stall()
	if heard, err := say(t, conn, []byte("hello"), short); len(heard) > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("on a stalled connection: heard %q, %v, want silence", heard, err)
	}
	if _, err := say(t, dial(t, l), []byte("hello"), time.Minute); err != nil {
		t.Errorf("on a new connection: %v", err)
	}
	l.Set(network.Silent())
	if heard, err := say(t, dial(t, l), []byte("hello"), short); len(heard) > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("in a silent network: heard %q, %v, want silence", heard, err)
	}
	l.Set(network.Fault{})
	if heard, err := say(t, conn, []byte("hello"), time.Minute); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("on the stalled connection, after the silence: heard %q, %v, want its end", heard, err)
	}
}

func TestANetworkThatIsDownRefusesUntilItIsUp(t *testing.T) {
	t.Parallel()
	l := echo(t)
	conn := dial(t, l)
	must(t, l.Down())
	if _, err := say(t, conn, []byte("hello"), time.Minute); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the connection did not end: %v", err)
	}
	var dialer net.Dialer
	if _, err := dialer.DialContext(t.Context(), "tcp", l.Address()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a new connection: %v, want refused", err)
	}
	must(t, l.Up(context.WithoutCancel(t.Context())))
	if heard, err := say(t, dial(t, l), []byte("hello"), time.Minute); err != nil || string(heard) != "hello" {
		t.Errorf("once it is up: heard %q, %v", heard, err)
	}
}
