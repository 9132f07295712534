//go:build !linux

package embedded

import (
	"context"
	"errors"
	"net"
	"os/exec"
)

// passage leads to an engine that has a network of its own, which only Linux has.
type passage struct{}

var errOnlyLinux = errors.New("only Linux has networks for single processes")

func newPassage() (*passage, error) { return nil, errOnlyLinux }

func (*passage) lead(*exec.Cmd) error { return errOnlyLinux }

func (*passage) opened(context.Context) error { return errOnlyLinux }

func (*passage) close() error { return nil }

func (*passage) dial(context.Context) (*net.TCPConn, error) { return nil, errOnlyLinux }

func openPassage(int) error { return errOnlyLinux }
