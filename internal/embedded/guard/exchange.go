package guard

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

const (
	dialTimeout = 5 * time.Second
	bufferBytes = 64 << 10
)

// exchange is an http.RoundTripper that never shows the engine a broken connection. The engine dies of an exception
// that it meets while it reads a header or ends an answer, and net/http's Transport causes both: it resets a
// connection whose client has left while some of the answer is unread, and keeps connections for the next request,
// which are in a header again. So every request has a connection of its own, and that is closed only when the engine
// has finished its answer. To a client that leaves corresponds an orderly end of the stream to the engine, which then
// stops what only reads (cancel_http_readonly_queries_on_client_close); the rest of its answer is thrown away here.
type exchange struct {
	address string
}

// RoundTrip sends the request and returns the answer's beginning. It does not return when the request's context
// ends, but passes that on and waits for the engine's answer.
func (x exchange) RoundTrip(request *http.Request) (*http.Response, error) {
	dialer := net.Dialer{Timeout: dialTimeout}
	opened, err := dialer.DialContext(context.WithoutCancel(request.Context()), "tcp", x.address)
	if err != nil {
		return nil, err
	}
	connection, ok := opened.(*net.TCPConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("connect to the engine: got a %T", opened), opened.Close())
	}
	release := context.AfterFunc(request.Context(), func() { endStream(connection) })
	// A plain goroutine, and nobody waits for it: it may wait for the client, while the answer is there already. It
	// ends when net/http closes the client's request, after the answer.
	go send(connection, request)
	response, err := http.ReadResponse(bufio.NewReaderSize(connection, bufferBytes), request)
	if err != nil {
		release()
		return nil, errors.Join(err, connection.Close())
	}
	response.Body = &answer{ReadCloser: response.Body, connection: connection, release: release}
	return response, nil
}

// send writes the request: the header in one piece, then the body as it comes.
func send(connection *net.TCPConn, request *http.Request) {
	writer := bufio.NewWriterSize(connection, bufferBytes)
	if request.Body != nil {
		request.Body = promptBody{request.Body, writer}
	}
	if err := errors.Join(request.Write(writer), writer.Flush()); err != nil {
		endStream(connection)
	}
}

// endStream tells the engine that no more will come. There is nothing to do if it has closed first.
func endStream(connection *net.TCPConn) {
	_ = connection.CloseWrite() //nolint:errcheck // see above
}

// promptBody sends what has come before it waits for more.
type promptBody struct {
	io.ReadCloser
	writer *bufio.Writer
}

// Read flushes, then reads.
func (b promptBody) Read(p []byte) (int, error) {
	if err := b.writer.Flush(); err != nil {
		return 0, err
	}
	return b.ReadCloser.Read(p)
}

// answer is a response's body; closed early, it goes on reading.
type answer struct {
	io.ReadCloser
	connection *net.TCPConn
	release    func() bool
}

// Close returns when the engine has finished. It reports nothing: whatever is wrong now, the client has gone.
func (a *answer) Close() error {
	a.release()
	endStream(a.connection)
	_, _ = io.Copy(io.Discard, a.ReadCloser) //nolint:errcheck // see above
	return a.connection.Close()
}
