// Package ports says what to do about a port that could not be opened.
package ports

import (
	"errors"
	"fmt"
	"net"
	"syscall"
)

// Unopened is the error of a flag that names a port. Where the port is taken it says how to see by whom, and which value of
// the flag takes a free one.
func Unopened(flag, value, free string, err error) error {
	err = fmt.Errorf("%s %q: %w", flag, value, err)
	if !errors.Is(err, syscall.EADDRINUSE) {
		return err
	}
	return fmt.Errorf("%w: perhaps by another tensortap up or serve; `ss -ltnp 'sport = :%s'` says by whom; %s %s takes a free port", err, port(err), flag, free)
}

// port is the port that could not be opened.
func port(err error) string {
	refused, ok := errors.AsType[*net.OpError](err)
	if !ok || refused.Addr == nil {
		return ""
	}
	_, port, _ := net.SplitHostPort(refused.Addr.String())
	return port
}
