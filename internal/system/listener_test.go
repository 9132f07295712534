package system

import (
	"errors"
	"net"
	"os"
	"syscall"
	"testing"
)

// TestAServerThatEndsWhileItIsCheckedCountsAsGone: whoever reconnects goes on then, as where the connection is refused.
func TestAServerThatEndsWhileItIsCheckedCountsAsGone(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	dialer := &ownDialer{trusted: []int{os.Geteuid()}}
	if err := dialer.checkListener(listener.Addr().String()); err != nil {
		t.Fatalf("a listener of this user: %v", err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := dialer.checked(connection, nil); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a listener that has ended: %v, expected a refused connection", err)
	}
}
