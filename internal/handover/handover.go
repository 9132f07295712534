// Package handover lends the terminal of this process to one process of a program after another, so that a person can
// type to whichever stands at a breakpoint.
package handover

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// Variable names the lender's socket in the environment of the program.
const Variable = "TENSORTAP_TERMINAL"

const mostBytes = 4096

// Lender waits for processes that want the terminal. Each has it alone; others wait, and are told for whom.
type Lender struct {
	folder   string
	listener *net.UnixListener
	terminal *os.File // nil: there is none, for the reason
	reason   string

	turn   chan struct{} // holds one word while nobody has the terminal
	mutex  sync.Mutex
	holder string
}

// borrower is what a process says of itself.
type borrower struct {
	Who   string `json:"who"`
	Where string `json:"where"`
}

// Open makes the socket, in a folder of its own that is this user's alone. Input is where the user types.
func Open(input *os.File) (*Lender, error) {
	folder, err := os.MkdirTemp("", "tensortap-")
	if err != nil {
		return nil, fmt.Errorf("lend the terminal to breakpoints: %w", err)
	}
	l := &Lender{folder: folder, turn: make(chan struct{}, 1)}
	l.turn <- struct{}{}
	l.listener, err = net.ListenUnix("unixpacket", &net.UnixAddr{Net: "unixpacket", Name: l.Path()})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lend the terminal to breakpoints: %w", err), os.RemoveAll(folder))
	}
	if l.terminal, err = reopen(input); err != nil {
		l.reason = err.Error()
	}
	return l, nil
}

// Path is that of the socket.
func (l *Lender) Path() string { return filepath.Join(l.folder, "terminal") }

// Serve lends until ctx ends; then nobody has the terminal any more, and the socket is gone.
func (l *Lender) Serve(ctx context.Context) error {
	serving, stop := context.WithCancel(ctx)
	defer stop()
	group, serving := errgroup.WithContext(serving)
	ended := context.AfterFunc(serving, func() { _ = l.listener.Close() })
	defer ended()
	for {
		line, err := l.listener.AcceptUnix()
		if err != nil {
			stop()
			break
		}
		group.Go(func() error {
			l.serve(serving, line)
			return nil
		})
	}
	err := group.Wait()
	if l.terminal != nil {
		err = errors.Join(err, l.terminal.Close())
	}
	return errors.Join(err, os.RemoveAll(l.folder))
}

// serve lends to one process, which is done when it closes its line.
func (l *Lender) serve(ctx context.Context, line *net.UnixConn) {
	defer line.Close() //nolint:errcheck // the process hears nothing more
	message := make([]byte, mostBytes)
	n, err := line.Read(message)
	var asks borrower
	if err != nil || json.Unmarshal(message[:n], &asks) != nil {
		return
	}
	if l.terminal == nil {
		_, _ = line.Write([]byte("none " + l.reason))
		return
	}
	if !l.await(ctx, line) {
		return
	}
	defer l.free()
	l.hold(asks.Who)
	_ = l.lend(ctx, line, asks) // what fails is seen by the process: its terminal hangs up
}

// await waits for the turn, and says so to who has to wait.
func (l *Lender) await(ctx context.Context, line *net.UnixConn) bool {
	select {
	case <-l.turn:
		return true
	default:
	}
	l.mutex.Lock()
	_, _ = line.Write([]byte("wait " + l.holder))
	l.mutex.Unlock()
	select {
	case <-l.turn:
		return true
	case <-ctx.Done():
		return false
	}
}

func (l *Lender) hold(who string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.holder = who
}

func (l *Lender) free() { l.turn <- struct{}{} }

// lend gives the process a pseudo-terminal, and stands between that and the real one until the process is done.
func (l *Lender) lend(ctx context.Context, line *net.UnixConn, asks borrower) error {
	pair, err := openPair(l.terminal)
	if err != nil {
		_, _ = line.Write([]byte("none " + err.Error()))
		return err
	}
	defer pair.close()
	if _, _, err := line.WriteMsgUnix([]byte("take"), unix.UnixRights(int(pair.theirs.Fd())), nil); err != nil {
		return err // it has gone while it waited
	}
	pair.hand()
	restore, err := raw(l.terminal)
	if err != nil {
		return err
	}
	defer restore()
	_, _ = fmt.Fprintf(l.terminal, "tensortap: %s stands in %s; what you type goes there\n", printable(asks.Who), printable(asks.Where))
	err = relay(ctx, l.terminal, pair.ours, line)
	_, _ = fmt.Fprintf(l.terminal, "tensortap: %s goes on\n", printable(asks.Who))
	return err
}
