package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/analysis/ask"
	"github.com/tensortap/tensortap/internal/embedded/guard"
	"github.com/tensortap/tensortap/internal/system"
)

// problemError is an answer that says why there is no other.
type problemError struct {
	Status    int    `json:"status"`
	Sentence  string `json:"error"`
	Parameter string `json:"parameter,omitempty"` // that is at fault
	*unknownRun
}

// unknownRun is a name that no run has, and the names most like it.
type unknownRun struct {
	Run     string   `json:"unknown_run"`
	Nearest []string `json:"nearest_runs"`
}

// Error implements error.
func (p *problemError) Error() string { return p.Sentence }

// wrong says what is wrong with a parameter.
func wrong(parameter, format string, values ...any) *problemError {
	return &problemError{Status: http.StatusBadRequest, Sentence: fmt.Sprintf(format, values...), Parameter: parameter}
}

func notFound(format string, values ...any) *problemError {
	return &problemError{Status: http.StatusNotFound, Sentence: fmt.Sprintf(format, values...)}
}

// longestEcho bounds what an error repeats of a request.
const longestEcho = 200

// shortened is a text of the request as an error repeats it.
func shortened(text string) string {
	text = strings.ToValidUTF8(text, "?")
	if utf8.RuneCountInString(text) > longestEcho {
		text = string([]rune(text)[:longestEcho]) + "…"
	}
	return fmt.Sprintf("%q", text)
}

// handle writes an answer, or why there is none.
func (a *API) handle(answer answering) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		counted := &counting{ResponseWriter: w}
		err := answer(counted, r)
		switch {
		case err == nil:
		case counted.begun:
			cutOff(w) // the status was sent: an answer without its end tells of the error
		default:
			a.fail(w, r, err)
		}
	}
}

// counting knows whether an answer has begun.
type counting struct {
	http.ResponseWriter
	begun bool
}

// Write implements io.Writer.
func (c *counting) Write(p []byte) (int, error) {
	c.begun = true
	return c.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (c *counting) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// cutOff ends the connection within the answer, which its reader sees.
func cutOff(http.ResponseWriter) {
	panic(http.ErrAbortHandler) //nolint:forbidigo // net/http's own way: it is not reported, and stops no one
}

// fail answers with the problem.
func (a *API) fail(w http.ResponseWriter, r *http.Request, err error) {
	p := problemOf(err)
	if p.Status >= http.StatusInternalServerError && r.Context().Err() == nil {
		a.cfg.Log.Warn().Str("path", r.URL.Path).Int("status", p.Status).Err(err).Msg("a request has no answer")
	}
	writeProblem(w, p)
}

func writeProblem(w http.ResponseWriter, p *problemError) {
	header := w.Header()
	for _, name := range []string{"ETag", "Content-Disposition", "Content-Encoding"} {
		header.Del(name)
	}
	header.Set("Content-Type", "application/json; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	if p.Status == http.StatusServiceUnavailable {
		header.Set("Retry-After", "1")
	}
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // whoever asked may be gone
}

// problemOf says what an error is to who asked.
func problemOf(err error) *problemError {
	if p := (*problemError)(nil); errors.As(err, &p) {
		return p
	}
	if p := (*system.ParameterError)(nil); errors.As(err, &p) {
		if away(p.Cause) {
			return &problemError{Status: http.StatusServiceUnavailable, Sentence: awaySentence(p.Cause)}
		}
		return &problemError{Status: http.StatusNotFound, Sentence: p.Cause.Error(), Parameter: p.Parameter, unknownRun: unknownRunOf(err)}
	}
	if away(err) {
		return &problemError{Status: http.StatusServiceUnavailable, Sentence: awaySentence(err)}
	}
	if exception := (*clickhouse.Exception)(nil); errors.As(err, &exception) {
		return &problemError{Status: http.StatusBadRequest, Sentence: err.Error()}
	}
	if malformed := (*ask.MalformedExceptionError)(nil); errors.As(err, &malformed) {
		return &problemError{Status: http.StatusInternalServerError, Sentence: err.Error()}
	}
	return &problemError{Status: http.StatusInternalServerError, Sentence: err.Error()}
}

func unknownRunOf(err error) *unknownRun {
	if unknown := (*ask.UnknownRunError)(nil); errors.As(err, &unknown) {
		return &unknownRun{unknown.Run, unknown.Nearest}
	}
	return nil
}

// away says whether the database or the stream does not answer just now.
func away(err error) bool {
	for _, passing := range []error{
		context.DeadlineExceeded, nats.ErrTimeout, nats.ErrNoResponders, nats.ErrDisconnected, nats.ErrConnectionReconnecting, nats.ErrConnectionClosed,
		jetstream.ErrNoStreamResponse, syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EPIPE, io.EOF, io.ErrUnexpectedEOF,
	} {
		if errors.Is(err, passing) {
			return true
		}
	}
	if dialed := (*net.OpError)(nil); errors.As(err, &dialed) {
		return true
	}
	return guard.Restarting(err) || guard.Broke(err) // a question may be asked again
}

func awaySentence(err error) string {
	return "the database or the stream does not answer just now, try again: " + err.Error()
}
