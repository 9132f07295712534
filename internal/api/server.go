package api

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log" //nolint:depguard // net/http takes its logger in this form only
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/tensortap/tensortap/internal/ports"
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
	look     func(context.Context)
	secure   bool // by TLS
}

// Place is where to listen.
type Place struct {
	Address   string // HOST:PORT
	Cert, Key string // files of TLS, PEM; none where both are empty
}

// Listen opens the port, so that one that is taken is told before any work begins. Requests wait until Run.
func (a *API) Listen(ctx context.Context, p Place) (*Server, error) {
	host, _, err := net.SplitHostPort(p.Address)
	if err != nil {
		return nil, fmt.Errorf("--listen %q: %w; want HOST:PORT, as 127.0.0.1:7070", p.Address, err)
	}
	if a.cfg.Access.Tokens == nil && !isLoopback(host) {
		return nil, fmt.Errorf("--listen %q: beyond this machine only who has a token may ask: make one with tensortap token new, and give --tokens FILE", p.Address)
	}
	encryption, err := p.encryption()
	if err != nil {
		return nil, err
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", p.Address)
	if err != nil {
		return nil, ports.Unopened("--listen", p.Address, net.JoinHostPort(host, "0"), err)
	}
	s := &Server{listener: listener, server: &http.Server{
		Handler: &closed{next: a, names: a.cfg.Access.Tokens != nil}, ConnContext: withPeer, TLSConfig: encryption,
		ReadHeaderTimeout: headerFor, IdleTimeout: idleFor, MaxHeaderBytes: headerBytes,
		ErrorLog: log.New(io.Discard, "", 0), // hostile clients must not fill the log
	}}
	s.server.RegisterOnShutdown(a.end)
	s.look, s.secure = a.look, encryption != nil
	return s, nil
}

// encryption is nil where none is asked for.
func (p Place) encryption() (*tls.Config, error) {
	if p.Cert == "" && p.Key == "" {
		return nil, nil //nolint:nilnil // none is asked for
	}
	if p.Cert == "" || p.Key == "" {
		return nil, errors.New("--listen-cert and --listen-key go together")
	}
	pair, err := tls.LoadX509KeyPair(p.Cert, p.Key)
	if err != nil {
		return nil, fmt.Errorf("read --listen-cert and --listen-key: %w", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}

// isLoopback says whether nobody on another machine reaches the host.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// URL is the address of the page.
func (s *Server) URL() string {
	scheme := "http://"
	if s.secure {
		scheme = "https://"
	}
	return scheme + s.listener.Addr().String() + "/"
}

// Run answers until ctx ends, and then lets requests under way finish.
func (s *Server) Run(ctx context.Context) error {
	var looking sync.WaitGroup
	defer looking.Wait()
	seeing, stopLooking := context.WithCancel(ctx)
	defer stopLooking()
	looking.Go(func() { s.look(seeing) })
	stopped := make(chan error, 1)
	release := context.AfterFunc(ctx, func() { stopped <- s.stop(context.WithoutCancel(ctx)) })
	err := s.serve()
	if release() { // ctx has not ended: the listener failed
		return fmt.Errorf("answer at %s: %w", s.listener.Addr(), err)
	}
	return <-stopped
}

func (s *Server) serve() error {
	if s.secure {
		return s.server.ServeTLS(s.listener, "", "") // the certificate is in the configuration
	}
	return s.server.Serve(s.listener)
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
