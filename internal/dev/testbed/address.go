package testbed

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"testing"
)

// Linux gives who asks for any port, and who connects, one from 32768 on.
const (
	firstPort = 20_000
	ports     = 10_000
)

// FreeAddress is one of this machine at which nobody listens, nor will anyone but this test before it ends: a server there may
// be killed and started again.
func FreeAddress(tb testing.TB) string {
	tb.Helper()
	return loopback(FreePorts(tb, 1))
}

// FreePorts is the first of that many free ports in a row.
func FreePorts(tb testing.TB, count int) int {
	tb.Helper()
	for range 1000 {
		if first := firstPort + rand.IntN(ports); hold(tb, first, count) == nil {
			return first
		}
	}
	tb.Fatalf("no %d ports in a row are free", count)
	return 0
}

// hold takes the ports for a test, unless somebody listens at one or it is another test's.
func hold(tb testing.TB, first, count int) error {
	tb.Helper()
	var config net.ListenConfig
	var held []io.Closer
	var err error
	for port := first; port < first+count && err == nil; port++ {
		var lock, listener net.Listener
		if lock, err = config.Listen(tb.Context(), "unix", fmt.Sprint("@tensortap-test-port-", port)); err != nil {
			break
		}
		held = append(held, lock)
		if listener, err = config.Listen(tb.Context(), "tcp", loopback(port)); err == nil {
			err = listener.Close()
		}
	}
	letGo := func() {
		for _, lock := range held {
			err = errors.Join(err, lock.Close())
		}
	}
	if err != nil {
		letGo()
	} else {
		tb.Cleanup(letGo)
	}
	return err
}

func loopback(port int) string { return fmt.Sprint("127.0.0.1:", port) }
