// Package guard stands between the embedded ClickHouse engine and all its clients.
//
// The engine dies when a client breaks its connection off at the wrong moment (in the request header, or while an
// answer ends), and its own `default` user needs no password. So only this package reaches it. It is an HTTP
// reverse proxy that reads the complete header first, knows its own two users, and speaks ClickHouse's HTTP interface
// otherwise unchanged, streaming both ways. While the engine restarts, it answers 503 with Retry-After.
package guard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log" //nolint:depguard // net/http takes its logger in this form only
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// The guard's users.
const (
	// Owner may do everything.
	Owner = "owner"
	// Reader may only read.
	Reader = "reader"
)

// Config has the guard's limits and its users' passwords.
type Config struct {
	// Address is the address to listen on, host:port; port 0 takes a free one. Loopback by default.
	Address string
	// OwnerPassword and ReaderPassword are the passwords of clients. Neither may be empty.
	OwnerPassword, ReaderPassword string
	// MaxHeaderBytes limits a request's header, with its query parameters; beyond it the answer is 431.
	MaxHeaderBytes int
	// HeaderTimeout is the longest time for a client to send its header.
	HeaderTimeout time.Duration
	// IdleTimeout is the longest wait of a connection for its next request.
	IdleTimeout time.Duration
	// Grace is the time for requests under way after the context has ended.
	Grace time.Duration
}

// DefaultConfig returns the limits that `up` uses, without passwords.
func DefaultConfig() Config {
	return Config{
		Address:        "127.0.0.1:0",
		MaxHeaderBytes: 1 << 20,
		HeaderTimeout:  10 * time.Second,
		IdleTimeout:    2 * time.Minute,
		Grace:          5 * time.Second,
	}
}

// Validate returns the first error of the configuration.
func (c Config) Validate() error {
	if _, _, err := net.SplitHostPort(c.Address); err != nil {
		return fmt.Errorf("guard address %q: %w", c.Address, err)
	}
	if c.OwnerPassword == "" || c.ReaderPassword == "" {
		return errors.New("the guard's users owner and reader need a password each")
	}
	if c.MaxHeaderBytes <= 0 || c.HeaderTimeout <= 0 || c.IdleTimeout <= 0 || c.Grace <= 0 {
		return fmt.Errorf("guard limits must be greater than zero: header %d bytes in %s, idle %s, grace %s",
			c.MaxHeaderBytes, c.HeaderTimeout, c.IdleTimeout, c.Grace)
	}
	return nil
}

// Guard is the proxy. Point may be called at any time, by one goroutine.
type Guard struct {
	cfg      Config
	listener net.Listener
	engine   atomic.Pointer[upstream] // nil while there is none
}

// New returns a guard that does not listen yet.
func New(cfg Config) (*Guard, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Guard{cfg: cfg}, nil
}

// Listen opens the port and returns its address. Requests wait until Run.
func (g *Guard) Listen(ctx context.Context) (string, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", g.cfg.Address)
	if err != nil {
		return "", fmt.Errorf("open the guard's port: %w", err)
	}
	g.listener = listener
	return listener.Addr().String(), nil
}

// Run serves until ctx ends, lets requests under way finish within Grace, and closes the port. Listen comes first.
func (g *Guard) Run(ctx context.Context) error {
	server := &http.Server{
		Handler:           fromOwnPages(http.HandlerFunc(g.serve)),
		ReadHeaderTimeout: g.cfg.HeaderTimeout,
		IdleTimeout:       g.cfg.IdleTimeout,
		MaxHeaderBytes:    g.cfg.MaxHeaderBytes,
		ErrorLog:          log.New(io.Discard, "", 0), // hostile clients must not fill the terminal
	}
	stopped := make(chan error, 1)
	release := context.AfterFunc(ctx, func() { stopped <- g.stop(context.WithoutCancel(ctx), server) })
	err := server.Serve(g.listener)
	if release() { // ctx has not ended: the listener failed
		return fmt.Errorf("serve the guard on %s: %w", g.listener.Addr(), err)
	}
	return <-stopped
}

func (g *Guard) stop(ctx context.Context, server *http.Server) error {
	ctx, cancel := context.WithTimeout(ctx, g.cfg.Grace)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		return server.Close() // Grace is over: cut the rest
	}
	return nil
}

func (g *Guard) serve(w http.ResponseWriter, r *http.Request) {
	user, ok := g.authenticate(r)
	if !ok {
		refuse(w)
		return
	}
	engine := g.engine.Load()
	if engine == nil {
		unavailable(w)
		return
	}
	(*engine)[user].ServeHTTP(w, r)
}

func refuse(w http.ResponseWriter) {
	w.Header().Set("WWW-Authenticate", `Basic realm="tensortap", charset="UTF-8"`)
	w.Header().Set("X-ClickHouse-Exception-Code", "516") // AUTHENTICATION_FAILED, for clients that look
	http.Error(w, "tensortap: unknown user or wrong password. Log in as owner, or as reader for reading only, with the password in endpoint.json in the data folder of `tensortap up`.",
		http.StatusUnauthorized)
}

// unavailable ends the connection, too: a client that could not log in forgets it, open.
func unavailable(w http.ResponseWriter) {
	w.Header().Set("Connection", "close")
	w.Header().Set("Retry-After", "1")
	http.Error(w, "tensortap: "+restarting+". Nothing was sent to it; try again.", http.StatusServiceUnavailable)
}

const (
	restarting = "the ClickHouse engine is restarting"
	broke      = "the connection to the ClickHouse engine broke"
)

// Restarting says whether a client's error is the guard's answer while there is no engine: the caller tries again, or says so.
func Restarting(err error) bool { return err != nil && strings.Contains(err.Error(), restarting) }

// Broke says whether a client's error is the guard's answer where the engine went away while it executed a request.
func Broke(err error) bool { return err != nil && strings.Contains(err.Error(), broke) }
