package guard

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// engineHost stands in URLs to the engine, which Dial finds without it.
const engineHost = "engine"

// errUnreached marks requests that were surely not sent.
var errUnreached = errors.New("the engine cannot be reached")

const (
	bufferBytes = 64 << 10
	// killInterval is the interval between kills of an abandoned query, until it has ended.
	killInterval = 500 * time.Millisecond
)

// exchange is an http.RoundTripper that never shows the engine a broken connection. The engine dies of an exception
// while it reads a header or ends an answer, and net/http's Transport causes both: it resets a connection whose
// client has left before the end of the answer, and keeps connections for the next request, which are in a header
// again. So every request has a connection of its own, which is closed only when the engine has finished its answer.
// When a client breaks off its request, the engine gets an orderly end of the stream. When a client leaves before
// the answer's end, a query that only reads is killed, and the rest of the answer thrown away.
type exchange struct {
	engine Engine
}

// RoundTrip sends the request and returns the answer's beginning. It waits for that, also when the request's context
// ends. The URL must have a query_id.
func (x exchange) RoundTrip(request *http.Request) (*http.Response, error) {
	lasting := context.WithoutCancel(request.Context())
	connection, err := x.engine.Dial(lasting)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnreached, err)
	}
	left, leave := context.WithCancel(request.Context())
	finished, finish := context.WithCancel(lasting)
	stay := context.AfterFunc(left, func() { x.killUntil(finished, parameter(request.URL.RawQuery, "query_id")) })
	// A plain goroutine without a waiter: it may wait for the client, while the answer is there already. It ends
	// when net/http closes the client's request, after the answer.
	go send(connection, request)
	response, err := http.ReadResponse(bufio.NewReaderSize(connection, bufferBytes), request)
	if err != nil {
		stay()
		leave()
		finish()
		return nil, errors.Join(err, connection.Close())
	}
	response.Body = &answer{body: response.Body, connection: connection, stay: stay, leave: leave, finish: finish}
	return response, nil
}

// killUntil kills the query if it only reads, again and again until the answer has been finished: it may not have
// begun yet.
func (x exchange) killUntil(finished context.Context, id string) {
	quoted := strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(id)
	sql := "KILL QUERY WHERE query_id = '" + quoted + "' AND query_kind = 'Select' ASYNC"
	for finished.Err() == nil {
		x.tell(context.WithoutCancel(finished), sql)
		select {
		case <-finished.Done():
		case <-time.After(killInterval):
		}
	}
}

// tell runs a statement as the engine's owner. If that does not work, the caller's next attempt may.
func (x exchange) tell(ctx context.Context, sql string) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+engineHost+"/", strings.NewReader(sql))
	if err != nil {
		return
	}
	request.Close = true
	x.engine.LogIn(request)
	if response, err := x.RoundTrip(request); err == nil {
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
	}
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

// endStream ends the stream to the engine. There is nothing to do if the engine has closed first.
func endStream(connection *net.TCPConn) {
	_ = connection.CloseWrite()
}

// promptBody sends each received part before it waits for more.
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
	body       io.ReadCloser
	connection *net.TCPConn
	read       bool
	stay       func() bool
	leave      func()
	finish     func()
}

// Read reads, and takes note of the end.
func (a *answer) Read(p []byte) (int, error) {
	n, err := a.body.Read(p)
	a.read = a.read || errors.Is(err, io.EOF)
	return n, err
}

// Close returns when the engine has finished. It reports nothing of the rest: the client has gone.
func (a *answer) Close() error {
	if a.read {
		a.stay()
	}
	a.leave()
	_, _ = io.Copy(io.Discard, a.body)
	a.finish()
	return a.connection.Close()
}
