package embedded

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/rs/zerolog"

	"github.com/tensortap/tensortap/internal/durable"
)

// NATSConfig says how to run the server. Begin with DefaultNATSConfig.
type NATSConfig struct {
	// Dir is JetStream's folder. One server at a time.
	Dir string
	// Address is the address to listen on, host:port; port 0 takes a free one. Loopback by default.
	Address string
	// Token is the password of clients; empty means a random one.
	Token string
	// SyncAlways writes to the disk before each acknowledgement. Without it a power failure loses the whole stream:
	// only for folders that are thrown away.
	SyncAlways bool
	// MaxStoreBytes limits the size of all streams together on the disk.
	MaxStoreBytes int64
	// MaxPayloadBytes limits one message.
	MaxPayloadBytes int32
	// FreeBytes is the free space that the disk must have before a server that could not write is
	// restarted.
	FreeBytes int64
	// StartTimeout is the longest start, with the recovery of the stored streams.
	StartTimeout time.Duration
	// CheckInterval is the interval of checks whether JetStream needs a restart.
	CheckInterval time.Duration
	// Log gets restarts, and the server's own warnings and errors. The zero value says nothing.
	Log zerolog.Logger
}

// DefaultNATSConfig returns the configuration for a folder.
func DefaultNATSConfig(dir string) NATSConfig {
	return NATSConfig{
		Dir:             dir,
		Address:         "127.0.0.1:0",
		SyncAlways:      true,
		MaxStoreBytes:   50_000_000_000,
		MaxPayloadBytes: 8<<20 + 64<<10,
		FreeBytes:       64 << 20,
		StartTimeout:    time.Minute,
		CheckInterval:   200 * time.Millisecond,
		Log:             zerolog.Nop(),
	}
}

// Validate returns the first error of the configuration.
func (c NATSConfig) Validate() error {
	if c.Dir == "" {
		return errors.New("the NATS server needs a folder")
	}
	if _, _, err := net.SplitHostPort(c.Address); err != nil {
		return fmt.Errorf("NATS address %q: %w", c.Address, err)
	}
	if c.MaxStoreBytes <= 0 || c.MaxPayloadBytes <= 0 || c.FreeBytes < 0 {
		return fmt.Errorf("the NATS server's limits must be greater than zero: store %d, payload %d, free %d bytes",
			c.MaxStoreBytes, c.MaxPayloadBytes, c.FreeBytes)
	}
	if c.StartTimeout <= 0 || c.CheckInterval <= 0 {
		return fmt.Errorf("the NATS server's times must be greater than zero: start %s, check %s", c.StartTimeout, c.CheckInterval)
	}
	return nil
}

// NATS is a NATS server in this process. Methods other than Run may be called at any time by anyone.
type NATS struct {
	cfg      NATSConfig
	host     string
	port     int // after the first start, for good
	ready    chan struct{}
	once     sync.Once
	restarts atomic.Int64
}

// NewNATS checks the configuration. It starts nothing and touches no file.
func NewNATS(cfg NATSConfig) (*NATS, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Token == "" {
		cfg.Token = rand.Text()
	}
	host, service, err := net.SplitHostPort(cfg.Address)
	if err != nil {
		return nil, fmt.Errorf("NATS address %q: %w", cfg.Address, err)
	}
	port, err := strconv.Atoi(service)
	if err != nil {
		return nil, fmt.Errorf("NATS address %q: %w", cfg.Address, err)
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	return &NATS{cfg: cfg, host: host, port: port, ready: make(chan struct{})}, nil
}

// Run serves until ctx ends, and returns nil when everything is on the disk. It returns an error if the first start
// fails. When the disk is full, a stream takes nothing more, even after there is room again, or JetStream switches
// itself off. Run waits until there is room and restarts the server in the same place, where clients find it by
// reconnecting (nats.MaxReconnects(-1)). Until then clients can still read the stored messages, if JetStream is on.
func (n *NATS) Run(ctx context.Context) error {
	if err := durable.MakeFolder(n.cfg.Dir); err != nil {
		return fmt.Errorf("make the NATS server's folder: %w", err)
	}
	current, err := n.start(ctx)
	if err != nil {
		return err
	}
	n.once.Do(func() { close(n.ready) })
	for wait(ctx, n.cfg.CheckInterval) {
		if current.broken() && n.hasRoom() {
			current = n.restart(ctx, current)
		}
	}
	current.stop()
	return nil
}

// Ready is closed when clients can connect for the first time. URL is valid from then on.
func (n *NATS) Ready() <-chan struct{} { return n.ready }

// URL returns an address for nats.Connect, with the token. It does not change while Run runs. Empty before
// Ready.
func (n *NATS) URL() string {
	select {
	case <-n.ready:
	default:
		return ""
	}
	address := url.URL{Scheme: "nats", User: url.User(n.cfg.Token), Host: net.JoinHostPort(n.host, strconv.Itoa(n.port))}
	return address.String()
}

// Restarts counts the starts after the first.
func (n *NATS) Restarts() int64 { return n.restarts.Load() }

// running is one start of the server; the zero value is none.
type running struct {
	server *server.Server
	words  *serverLog
}

// broken says whether only a restart can help.
func (r running) broken() bool {
	return r.server == nil || !r.server.JetStreamEnabled() || r.words.writeFailed()
}

func (r running) stop() {
	if r.server != nil {
		r.server.Shutdown()
		r.server.WaitForShutdown()
	}
}

// hasRoom says whether the disk has FreeBytes.
func (n *NATS) hasRoom() bool {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(n.cfg.Dir, &disk); err != nil {
		return false
	}
	return int64(disk.Bavail)*int64(disk.Bsize) >= n.cfg.FreeBytes //nolint:gosec,unconvert // types differ between systems
}

// restart returns the new server, or none if that did not work: the next look tries again.
func (n *NATS) restart(ctx context.Context, last running) running {
	last.stop()
	next, err := n.start(ctx)
	if err != nil {
		n.cfg.Log.Error().Err(err).Msg("nats server did not restart, trying again")
		return running{}
	}
	n.cfg.Log.Warn().Int64("restarts", n.restarts.Add(1)).Msg("nats server restarted, the disk takes writes again")
	return next
}

func (n *NATS) start(ctx context.Context) (running, error) {
	created, err := server.NewServer(n.options())
	if err != nil {
		return running{}, fmt.Errorf("start the NATS server in %s: %w", n.cfg.Dir, err)
	}
	next := running{server: created, words: &serverLog{log: n.cfg.Log}}
	created.SetLogger(next.words, false, false)
	created.Start()
	if err := next.awaitConnections(ctx, n.cfg.StartTimeout); err != nil {
		next.stop()
		return running{}, fmt.Errorf("start the NATS server in %s: %w", n.cfg.Dir, err)
	}
	if address, ok := created.Addr().(*net.TCPAddr); ok && n.port == server.RANDOM_PORT {
		n.port = address.Port
	}
	return next, nil
}

// authTimeout is how long a client may take for its token. A busy machine may need more than the server's two seconds.
const authTimeout = 30 * time.Second

func (n *NATS) options() *server.Options {
	return &server.Options{
		ServerName:             "tensortap",
		Host:                   n.host,
		Port:                   n.port,
		Authorization:          n.cfg.Token,
		AuthTimeout:            authTimeout.Seconds(),
		JetStream:              true,
		StoreDir:               n.cfg.Dir,
		SyncAlways:             n.cfg.SyncAlways,
		JetStreamMaxStore:      n.cfg.MaxStoreBytes,
		JetStreamMaxMemory:     64 << 20, // everything is in files; this is for consumers without a name
		MaxPayload:             n.cfg.MaxPayloadBytes,
		NoSigs:                 true,
		NoLog:                  true, // the logger is set by hand
		DisableJetStreamBanner: true,
	}
}

// awaitConnections waits in short steps, so that ctx and a server that gave up are heard.
func (r running) awaitConnections(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it was not ready within %s", limit))
	defer cancel()
	for !r.server.ReadyForConnections(pollInterval) {
		if err := r.words.fatal(); err != nil {
			return err
		}
		if !wait(ctx, pollInterval) {
			return context.Cause(ctx)
		}
	}
	if !r.server.JetStreamEnabled() {
		return errors.New("it runs without JetStream")
	}
	return nil
}
