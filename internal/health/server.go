package health

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/internal/ports"
)

// Config says where a process tells how it does. The zero value is nowhere.
type Config struct {
	Metrics  string // HOST:PORT of /metrics, /healthz and /readyz; without a host this machine alone
	Profiles string // PORT of /debug/pprof on this machine alone
}

// Wanted says whether the process tells anything at all.
func (c Config) Wanted() bool { return c.Metrics+c.Profiles != "" }

// Limits of a connection: an answer takes at most askFor, a profile as long as it is asked for.
const (
	headerFor  = 10 * time.Second
	idleFor    = time.Minute
	atOnce     = 4 // scrapes; the next ones are refused
	headerSize = 16 << 10
)

// Beside tells how the process does while work runs, and where, in a line for each place.
func (h *Health) Beside(ctx context.Context, cfg Config, tell func(text string), work func() error) error {
	servers, err := h.servers(ctx, cfg, tell)
	if err != nil {
		return err
	}
	var group errgroup.Group
	for _, s := range servers {
		group.Go(s.serve)
	}
	err = work()
	for _, s := range servers {
		_ = s.Close() // whoever asks just now asks again
	}
	return errors.Join(err, group.Wait())
}

// serving is a server and where it listens.
type serving struct {
	*http.Server
	listener   net.Listener
	what, path string
}

func (s *serving) serve() error {
	if err := s.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("tell health at %s: %w", s.listener.Addr(), err)
	}
	return nil
}

// servers listen already: a place that is taken is told before any work begins.
func (h *Health) servers(ctx context.Context, cfg Config, tell func(string)) (all []*serving, err error) {
	if cfg.Metrics != "" {
		all, err = opened(all)(listenPublic(ctx, cfg.Metrics, h.pages()))
	}
	if err == nil && cfg.Profiles != "" {
		all, err = opened(all)(listenPrivate(ctx, cfg.Profiles, profiles()))
	}
	if err != nil {
		for _, s := range all {
			err = errors.Join(err, s.listener.Close())
		}
		return nil, err
	}
	for _, s := range all {
		tell(fmt.Sprintf("%s at http://%s%s", s.what, s.listener.Addr(), s.path))
	}
	return all, nil
}

// opened adds a server to others, unless it could not listen.
func opened(all []*serving) func(*serving, error) ([]*serving, error) {
	return func(s *serving, err error) ([]*serving, error) {
		if err != nil {
			return all, err
		}
		return append(all, s), nil
	}
}

// listenPublic listens where it is told to: a port without a host is this machine's alone.
func listenPublic(ctx context.Context, address string, pages http.Handler) (*serving, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("--metrics %q: %w; want HOST:PORT, or :PORT for this machine alone", address, err)
	}
	s, err := listen(ctx, net.JoinHostPort(cmp.Or(host, loopback), port), pages)
	if err != nil {
		return nil, ports.Unopened("--metrics", address, host+":0", err)
	}
	s.what, s.path = "metrics", "/metrics"
	return s, nil
}

// loopback is this machine, for itself alone.
const loopback = "127.0.0.1"

// listenPrivate listens where nobody on another machine reaches it.
func listenPrivate(ctx context.Context, port string, pages http.Handler) (*serving, error) {
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return nil, fmt.Errorf("--pprof %q: want a port, 0 to 65535; it listens on this machine alone", port)
	}
	s, err := listen(ctx, net.JoinHostPort(loopback, port), pages)
	if err != nil {
		return nil, ports.Unopened("--pprof", port, "0", err)
	}
	s.what, s.path = "profiles", "/debug/pprof/"
	return s, nil
}

func listen(ctx context.Context, address string, pages http.Handler) (*serving, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	if at, ok := listener.Addr().(*net.TCPAddr); ok && at.IP.IsLoopback() {
		pages = ofThisMachine(pages)
	}
	server := &http.Server{Handler: pages, ReadHeaderTimeout: headerFor, IdleTimeout: idleFor, MaxHeaderBytes: headerSize}
	return &serving{Server: server, listener: listener}, nil
}

// ofThisMachine answers to an address or to localhost: another name is that of a page in a browser, which was pointed here.
func ofThisMachine(pages http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if host != "localhost" && net.ParseIP(host) == nil {
			http.Error(w, "ask by the address of this machine", http.StatusForbidden)
			return
		}
		pages.ServeHTTP(w, r)
	})
}

// pages are what is told of the health.
func (h *Health) pages() http.Handler {
	mux := http.NewServeMux()
	places := make(chan struct{}, atOnce)
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		select {
		case places <- struct{}{}:
			defer func() { <-places }()
			h.metrics(w, r)
		default:
			http.Error(w, fmt.Sprintf("%d scrapes are under way, the limit", atOnce), http.StatusServiceUnavailable)
		}
	})
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "the process lives\n") })
	mux.HandleFunc("GET /readyz", h.readiness)
	return mux
}

func (h *Health) metrics(w http.ResponseWriter, r *http.Request) {
	promhttp.HandlerFor(h.registry(r.Context()), promhttp.HandlerOpts{}).ServeHTTP(w, r)
}

// readiness says which servers do not answer, a line for each.
func (h *Health) readiness(w http.ResponseWriter, r *http.Request) {
	answers := h.missing(r.Context())
	var text string
	for _, name := range slices.Sorted(maps.Keys(answers)) {
		if err := answers[name]; err != nil {
			text += fmt.Sprintf("the %s does not answer: %v\n", name, err)
		}
	}
	if len(answers) == 0 {
		text = "it is still starting: no server has been reached yet\n"
	}
	if text != "" {
		say(w, http.StatusServiceUnavailable, text)
		return
	}
	say(w, http.StatusOK, "ready\n")
}

func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text) // whoever asked may be gone
}
