// Package api answers over HTTP what the command line answers: reports, comparisons and explanations of stored runs, below
// /api/v1, and the page beside it. It asks by the same doors, and has no SQL of its own.
package api

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/gzhttp"
	"github.com/rs/zerolog"

	"github.com/tensortap/tensortap/internal/system"
)

// Config says what is served.
type Config struct {
	Version string // of the program
	Program string // how a shell calls the program, in the commands that an answer ends with; empty for tensortap
	Page    fs.FS  // index.html and what it loads; nil, or without index.html, where it was not built
	Shared  []byte // the page of a comparison that is shared as a file; nil where it was not built
	Access  Access
	Control bool // operators may have living processes do something
	// RawTensors is the folder of those that runs kept on this host.
	RawTensors func() string
	Log        zerolog.Logger
	Now        func() time.Time
}

// API is the handler of all requests. Until Use it answers that the system is still starting.
type API struct {
	cfg      Config
	client   atomic.Pointer[system.Client]
	mux      *http.ServeMux
	packed   http.Handler // the same, with answers compressed for who takes that
	places   places       // of answers at a time
	tensors  places       // of those that read raw tensors
	answers  *answers
	opened   *opened
	crowd    crowd
	counters counters
	over     chan struct{} // closed once no more is to be said to who listens
	end      func()
}

// New makes an API that knows no system yet.
func New(cfg Config) (*API, error) {
	a := &API{
		cfg: cfg, mux: http.NewServeMux(), over: make(chan struct{}), answers: newAnswers(answersBytes), opened: newOpened(),
		places: make(places, atOnce), tensors: make(places, tensorsAtOnce),
	}
	a.end = sync.OnceFunc(func() { close(a.over) })
	routes := a.routes()
	document, err := openAPI(cfg.Version, routes)
	if err != nil {
		return nil, fmt.Errorf("describe the API: %w", err)
	}
	for path, methods := range a.byPath(append(routes, describing(document))) {
		a.mux.Handle(path, methods)
	}
	a.mux.Handle("/api/", a.known(a.handle(func(_ http.ResponseWriter, r *http.Request) error {
		return notFound("nothing is at %s: GET %s/openapi.json lists what there is", shortened(r.URL.Path), root)
	})))
	a.mux.Handle("/", a.page())
	pack, err := gzhttp.NewWrapper()
	if err != nil {
		return nil, err
	}
	a.packed = pack(a.mux)
	return a, nil
}

// Use has the API ask that client from now on. It stays its caller's to close.
func (a *API) Use(client *system.Client) { a.client.Store(client) }

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	noted := &noting{ResponseWriter: w, status: http.StatusOK}
	defer func() { a.counters.seen(noted.status) }()
	if r.URL.Path == livePath { // of which each line is to go at once
		a.mux.ServeHTTP(noted, r)
		return
	}
	a.packed.ServeHTTP(noted, r)
}

// root is the path of this version of the API.
const root = "/api/v1"

// answering is what answers a request, or says why it does not.
type answering func(w http.ResponseWriter, r *http.Request) error

// asking is the same with a system to ask.
type asking func(ctx context.Context, client *system.Client, w http.ResponseWriter, r *http.Request) error

// Limits of answers that ask the system. One that finds no place waits.
const (
	longest = 5 * time.Minute
	atOnce  = 16
)

var errTooSlow = &problemError{Status: http.StatusServiceUnavailable, Sentence: fmt.Sprintf("the answer took longer than %v, the limit", longest)}

// ask answers a request of the system, in bounded time.
func (a *API) ask(do asking) answering { return a.askIn(a.places, do) }

// askIn is ask for questions that have places of their own.
func (a *API) askIn(in places, do asking) answering {
	return func(w http.ResponseWriter, r *http.Request) error {
		client := a.client.Load()
		if client == nil {
			return &problemError{Status: http.StatusServiceUnavailable, Sentence: "the system is still starting: try again"}
		}
		ctx, cancel := context.WithCancelCause(r.Context()) // a deadline would become a setting of the database, whose user may be kept to less
		defer cancel(nil)
		defer time.AfterFunc(longest, func() { cancel(errTooSlow) }).Stop()
		limits := http.NewResponseController(w)
		_ = limits.SetWriteDeadline(a.cfg.Now().Add(longest)) // where that is not known, ctx ends the answer
		defer limits.SetWriteDeadline(time.Time{})            //nolint:errcheck // likewise
		recorded := &recording{ResponseWriter: w}
		err := in.during(ctx, func() error { return do(ctx, client, recorded, r) })
		if err == nil {
			a.answers.keep(recorded)
		}
		if err != nil && errors.Is(context.Cause(ctx), errTooSlow) {
			return errTooSlow
		}
		return err
	}
}

// places are those of who asks at a time.
type places chan struct{}

// during waits for a place, and has it until the work is done.
func (p places) during(ctx context.Context, do func() error) error {
	select {
	case p <- struct{}{}:
		defer func() { <-p }()
		return do()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
