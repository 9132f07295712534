// Package network is a bad network between clients and a server, for tests: late, narrow, in pieces, silent, or broken in
// the middle of what is said. What happens to the bytes is toxiproxy's work; the connections are this package's, which
// leaves none of them, and no goroutine, behind.
package network

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"

	"github.com/Shopify/toxiproxy/v2/toxics"
	"github.com/rs/zerolog"
	"github.com/rs/zerolog/log"
	"golang.org/x/sync/errgroup"
)

// Fault is what is wrong with a network. The zero value is nothing.
type Fault struct {
	Toward toxics.Toxic // what happens to bytes on their way to the server; nil for nothing
	Back   toxics.Toxic // the same of those on their way back
	Resets bool         // what the fault breaks off is reset, so that what is on its way is lost
}

// Silent is a network in which all bytes vanish and every connection stays up.
func Silent() Fault { return Fault{Toward: &toxics.TimeoutToxic{}, Back: &toxics.TimeoutToxic{}} }

// Link is the network before one server. Its methods may be called at the same time.
type Link struct {
	server  string
	address string
	group   errgroup.Group

	mutex    sync.Mutex
	listener net.Listener // nil while the link is down
	fault    Fault
	lines    map[*line]struct{}
	broken   int
}

// hush silences the one logger that toxiproxy takes from nobody.
var hush = sync.OnceFunc(func() { log.Logger = zerolog.Nop() }) //nolint:gochecknoglobals // as the logger is

// Open is a good network before the server. The caller closes it.
func Open(ctx context.Context, server string) (*Link, error) {
	hush()
	l := &Link{server: server, address: "127.0.0.1:0", lines: map[*line]struct{}{}}
	return l, l.Up(ctx)
}

// Address is where clients find the server.
func (l *Link) Address() string { return l.address }

// Broken is how many connections the network has broken off so far.
func (l *Link) Broken() int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.broken
}

// Set has the network be that bad from now on, for connections that there are and for new ones. Connections of which
// a silent network has swallowed bytes break off as it ends.
func (l *Link) Set(f Fault) {
	l.mutex.Lock()
	l.fault = f
	lines := slices.Collect(maps.Keys(l.lines))
	l.mutex.Unlock()
	change(lines, f)
}

// Stall lets no more bytes through the connections that there are, and does not close them. New ones are not concerned.
func (l *Link) Stall() {
	l.mutex.Lock()
	lines := slices.Collect(maps.Keys(l.lines))
	l.mutex.Unlock()
	change(lines, Silent())
}

func change(lines []*line, f Fault) {
	var group errgroup.Group
	for _, line := range lines {
		line.resets.Store(f.Resets)
		group.Go(func() error { line.toward.change(f.Toward); return nil })
		group.Go(func() error { line.back.change(f.Back); return nil })
	}
	_ = group.Wait() // no member fails
}

// Down breaks off all connections and refuses new ones.
func (l *Link) Down() error {
	l.mutex.Lock()
	listener, lines := l.listener, slices.Collect(maps.Keys(l.lines))
	l.listener = nil
	l.broken += len(lines)
	l.mutex.Unlock()
	if listener == nil {
		return nil
	}
	err := listener.Close()
	for _, line := range lines {
		line.end()
	}
	return err
}

// Up takes connections again.
func (l *Link) Up(ctx context.Context) error {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", l.address)
	if err != nil {
		return fmt.Errorf("open a network before %s: %w", l.server, err)
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.address, l.listener = listener.Addr().String(), listener
	l.group.Go(func() error { return l.accept(context.WithoutCancel(ctx), listener) })
	return nil
}

// Close ends all connections, and returns when nothing of the network is left.
func (l *Link) Close() error { return errors.Join(l.Down(), l.group.Wait()) }

// accept ends when the listener is closed.
func (l *Link) accept(ctx context.Context, listener net.Listener) error {
	for {
		client, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		l.group.Go(func() error {
			l.connect(ctx, listener, client)
			return nil
		})
	}
}

// connect joins a client with the server. Where there is none, the client's connection ends.
func (l *Link) connect(ctx context.Context, listener net.Listener, client net.Conn) {
	var dialer net.Dialer
	server, err := dialer.DialContext(ctx, "tcp", l.server)
	if err != nil {
		_ = client.Close()
		return
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.listener != listener {
		_, _ = client.Close(), server.Close()
		return
	}
	made := newLine(client, server, l.fault)
	l.lines[made] = struct{}{}
	l.group.Go(func() error {
		broken := made.run()
		l.mutex.Lock()
		defer l.mutex.Unlock()
		delete(l.lines, made)
		if broken {
			l.broken++
		}
		return nil
	})
}
