package simulated

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// wire is one direction of a connection. Like the buffers of a kernel it takes what is written at once: the client holds
// locks while it writes, and a simulated clock stands still while anyone waits for a lock.
type wire struct {
	mutex    sync.Mutex
	ready    *sync.Cond
	bytes    []byte
	closed   bool
	deadline time.Time
	alarm    *time.Timer
}

func newWire() *wire {
	w := &wire{}
	w.ready = sync.NewCond(&w.mutex)
	return w
}

func (w *wire) write(b []byte) (int, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.closed {
		return 0, io.ErrClosedPipe
	}
	w.bytes = append(w.bytes, b...)
	w.ready.Broadcast()
	return len(b), nil
}

func (w *wire) read(b []byte) (int, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for len(w.bytes) == 0 {
		if w.closed {
			return 0, io.EOF
		}
		if !w.deadline.IsZero() && !time.Now().Before(w.deadline) {
			return 0, os.ErrDeadlineExceeded
		}
		w.ready.Wait()
	}
	n := copy(b, w.bytes)
	w.bytes = w.bytes[n:]
	return n, nil
}

func (w *wire) close() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.closed = true
	w.quiet()
	w.ready.Broadcast()
}

func (w *wire) until(deadline time.Time) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.quiet()
	w.deadline = deadline
	if !deadline.IsZero() && !w.closed {
		w.alarm = time.AfterFunc(time.Until(deadline), w.ready.Broadcast)
	}
	w.ready.Broadcast()
}

func (w *wire) quiet() {
	if w.alarm != nil {
		w.alarm.Stop()
		w.alarm = nil
	}
}

// end is one end of a connection.
type end struct{ in, out *wire }

func ends() (client, server net.Conn) {
	up, down := newWire(), newWire()
	return end{in: down, out: up}, end{in: up, out: down}
}

// Read implements net.Conn.
func (e end) Read(b []byte) (int, error) { return e.in.read(b) }

// Write implements net.Conn.
func (e end) Write(b []byte) (int, error) { return e.out.write(b) }

// Close implements net.Conn.
func (e end) Close() error {
	e.in.close()
	e.out.close()
	return nil
}

// LocalAddr implements net.Conn.
func (e end) LocalAddr() net.Addr { return &net.TCPAddr{} }

// RemoteAddr implements net.Conn.
func (e end) RemoteAddr() net.Addr { return &net.TCPAddr{} }

// SetDeadline implements net.Conn.
func (e end) SetDeadline(t time.Time) error { return e.SetReadDeadline(t) }

// SetReadDeadline implements net.Conn.
func (e end) SetReadDeadline(t time.Time) error {
	e.in.until(t)
	return nil
}

// SetWriteDeadline implements net.Conn: a write never waits.
func (e end) SetWriteDeadline(_ time.Time) error { return nil }
