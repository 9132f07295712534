package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log" //nolint:depguard // net/http takes its logger in this form only
	"net"
	"net/http"
	"time"
)

// Limits of a connection.
const (
	headerFor   = 10 * time.Second
	headerBytes = 128 << 10 // names of 10 kB, each byte in three characters
	idleFor     = 2 * time.Minute
	grace       = 5 * time.Second // for requests under way at the end
)

// Server listens for requests.
type Server struct {
	listener net.Listener
	server   *http.Server
}

// Listen opens the port, so that one that is taken is told before any work begins. Requests wait until Run.
func (a *API) Listen(ctx context.Context, address string) (*Server, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("--listen %q: %w; want HOST:PORT, as 127.0.0.1:7070", address, err)
	}
	if !isLoopback(host) {
		return nil, fmt.Errorf("--listen %q: beyond this machine a token is required", address)
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--listen %q: %w", address, err)
	}
	return &Server{listener: listener, server: &http.Server{
		Handler: &closed{next: a, loopback: true}, ReadHeaderTimeout: headerFor, IdleTimeout: idleFor, MaxHeaderBytes: headerBytes,
		ErrorLog: log.New(io.Discard, "", 0), // hostile clients must not fill the log
	}}, nil
}

// isLoopback says whether nobody on another machine reaches the host.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// URL is the address of the page.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() + "/" }

// Run answers until ctx ends, and then lets requests under way finish.
func (s *Server) Run(ctx context.Context) error {
	stopped := make(chan error, 1)
	release := context.AfterFunc(ctx, func() { stopped <- s.stop(context.WithoutCancel(ctx)) })
	err := s.server.Serve(s.listener)
	if release() { // ctx has not ended: the listener failed
		return fmt.Errorf("answer at %s: %w", s.listener.Addr(), err)
	}
	return <-stopped
}

// Close gives the port back where Run was not called.
func (s *Server) Close() error { return s.listener.Close() }

func (s *Server) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	if err := s.server.Shutdown(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return s.server.Close()
}
