package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ownPort is the engine's port where it has a network of its own.
const ownPort = 47923

const dialTimeout = 5 * time.Second

var (
	// errNoNetwork says that the child could not have a network of its own.
	errNoNetwork = errors.New("the engine cannot have a network of its own")
	errEnded     = errors.New("the engine's process has ended")
)

// network is where a child listens: in a network of its own, or on a port of the machine.
type network struct {
	port    int
	passage *passage // nil on a port of the machine
}

func (e *Engine) network(ctx context.Context) (network, error) {
	if e.Apart() {
		passage, err := newPassage()
		if err != nil {
			return network{}, fmt.Errorf("%w: %w", errNoNetwork, err)
		}
		return network{ownPort, passage}, nil
	}
	port, err := e.freePort(ctx)
	e.port = port
	return network{port: port}, err
}

func (n network) start(command *exec.Cmd) error {
	if n.passage == nil {
		if err := command.Start(); err != nil {
			return fmt.Errorf("start %s: %w", strings.Join(command.Args, " "), err)
		}
		return nil
	}
	err := n.passage.lead(command)
	if err == nil {
		return nil
	}
	err = fmt.Errorf("start %s: %w", strings.Join(command.Args, " "), err)
	for _, forbidden := range []error{syscall.EPERM, syscall.EACCES, syscall.EINVAL, syscall.ENOSPC, syscall.ENOSYS, syscall.EUSERS} {
		if errors.Is(err, forbidden) {
			return fmt.Errorf("%w: %w", errNoNetwork, err)
		}
	}
	return err // such as for want of memory: the next start may have it
}

// toldError is why the child could not do what it was asked for.
type toldError string

// Error implements error.
func (e toldError) Error() string { return string(e) }

// opened waits until the child has set up its network.
func (n network) opened(ctx context.Context) error {
	if n.passage == nil {
		return nil
	}
	err := n.passage.opened(ctx)
	if told := toldError(""); errors.As(err, &told) {
		return fmt.Errorf("%w: %w", errNoNetwork, err)
	}
	return err
}

func (n network) close() {
	if n.passage != nil {
		_ = n.passage.close() // its socket holds nothing
	}
}

// dial opens a connection to the engine.
func (n network) dial(ctx context.Context) (*net.TCPConn, error) {
	if n.passage != nil {
		return n.passage.dial(ctx)
	}
	dialer := net.Dialer{Timeout: dialTimeout}
	opened, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(n.port)))
	return tcp(opened, err)
}

func tcp(opened net.Conn, err error) (*net.TCPConn, error) {
	if err != nil {
		return nil, fmt.Errorf("connect to the engine: %w", err)
	}
	connection, ok := opened.(*net.TCPConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("connect to the engine: got a %T", opened), opened.Close())
	}
	return connection, nil
}
