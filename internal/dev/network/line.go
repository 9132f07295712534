package network

import (
	"io"
	"net"
	"sync"
	"sync/atomic"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"
	"golang.org/x/sync/errgroup"
)

// line is a client's connection, joined with one to the server.
type line struct {
	client, server net.Conn
	toward, back   *way
	resets         atomic.Bool
	once           sync.Once
}

// readBuffer bounds what waits on its way, as on a network whose speed the sender has found out.
const readBuffer = 64 << 10

func newLine(client, server net.Conn, f Fault) *line {
	l := &line{client: client, server: server, toward: newWay(client, server, f.Toward), back: newWay(server, client, f.Back)}
	l.resets.Store(f.Resets)
	for _, conn := range []net.Conn{client, server} {
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetReadBuffer(readBuffer)
		}
	}
	return l
}

// run ends with the connections, and says whether the network broke them off.
func (l *line) run() bool {
	var group errgroup.Group
	l.toward.start(&group, l.end)
	l.back.start(&group, l.end)
	_ = group.Wait() // no member fails
	return l.toward.broken.Load() || l.back.broken.Load()
}

// end closes both connections.
func (l *line) end() {
	l.once.Do(func() {
		for _, conn := range []net.Conn{l.client, l.server} {
			if tcp, ok := conn.(*net.TCPConn); ok && l.resets.Load() {
				_ = tcp.SetLinger(0)
			}
			_ = conn.Close()
		}
	})
}

// way is one direction of a line.
type way struct {
	from, to net.Conn
	in, out  chan *stream.StreamChunk
	stub     *toxics.ToxicStub
	heard    atomic.Bool // all that the sender will ever say
	broken   atomic.Bool // off, by what happens to the bytes

	mutex   sync.Mutex
	toxic   toxics.Toxic
	running *errgroup.Group
}

func newWay(from, to net.Conn, toxic toxics.Toxic) *way {
	const waiting = 16 // pieces, so that late ones do not hold up the sender
	w := &way{from: from, to: to, in: make(chan *stream.StreamChunk, waiting), out: make(chan *stream.StreamChunk)}
	w.stub = toxics.NewToxicStub(w.in, w.out)
	w.toxic = toxic
	return w
}

// start moves bytes until either end is closed. It then calls end.
func (w *way) start(group *errgroup.Group, end func()) {
	group.Go(func() error {
		writer := stream.NewChanWriter(w.in)
		_, _ = io.Copy(writer, w.from)
		w.heard.Store(true)
		return writer.Close()
	})
	w.mutex.Lock()
	w.running = group
	w.act()
	w.mutex.Unlock()
	group.Go(func() error {
		_, err := io.Copy(w.to, stream.NewChanReader(w.out))
		w.broken.Store(err == nil && !w.heard.Load())
		end()
		// Let go of whoever still sends: first of what happens to the bytes, then of the sender.
		for range w.out {
		}
		for range w.in {
		}
		return nil
	})
}

// act has the bytes be treated as the fault says. The caller holds the mutex.
func (w *way) act() {
	toxic := w.toxic
	if toxic == nil {
		toxic = &toxics.NoopToxic{}
	}
	if stateful, ok := toxic.(toxics.StatefulToxic); ok {
		w.stub.State = stateful.NewState()
	}
	w.running.Go(func() error {
		w.stub.Run(&toxics.ToxicWrapper{Toxic: toxic, Toxicity: 1})
		return nil
	})
}

// change treats the bytes in another way from now on.
func (w *way) change(toxic toxics.Toxic) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.running == nil || !w.stub.InterruptToxic() {
		w.toxic = toxic
		return
	}
	if swallowed, ok := w.toxic.(toxics.CleanupToxic); ok {
		swallowed.Cleanup(w.stub)
		return
	}
	w.toxic = toxic
	w.act()
}
