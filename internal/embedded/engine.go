package embedded

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/internal/durable"
	"github.com/tensortap/tensortap/internal/embedded/guard"
)

// EngineConfig says how to run the engine. Begin with DefaultEngineConfig.
type EngineConfig struct {
	// Library is libchdb.so's path; libchdb.Locate finds it.
	Library string
	// Dir is the engine's folder: settings and, under data, the databases. One engine at a time.
	Dir string
	// Command starts the child, which must call RunEngine: this executable with `engine serve`.
	Command []string
	// ReadableDirs are further folders that SQL may read, such as the archive. Everything else but Dir is out of
	// reach, where the kernel offers Landlock (Linux 5.19 and later).
	ReadableDirs []string
	// ShareNetwork has the engine listen on a port of the machine, as where the system forbids it a network of its own.
	ShareNetwork bool
	// MaxMemoryBytes is the engine's max_server_memory_usage.
	MaxMemoryBytes int64
	// Guard has the guard's port and limits. Empty passwords are replaced by random ones.
	Guard guard.Config
	// StartTimeout is the longest start until the first answer.
	StartTimeout time.Duration
	// HangTimeout is the longest time without an answer, after which the child is killed.
	HangTimeout time.Duration
	// LockTimeout is the longest wait for an engine of an earlier process to let go of Dir.
	LockTimeout time.Duration
	// Grace is the time that the child may take to end before it is killed.
	Grace time.Duration
	// BackoffMin and BackoffMax bound the pause before a restart; it doubles with each start that was not answered.
	BackoffMin, BackoffMax time.Duration
	// Log gets restarts and the messages of the child. The zero value logs nothing.
	Log zerolog.Logger
}

// DefaultEngineConfig returns the configuration for a library, a folder and a command.
func DefaultEngineConfig(library, dir string, command []string) EngineConfig {
	return EngineConfig{
		Library:        library,
		Dir:            dir,
		Command:        command,
		MaxMemoryBytes: defaultMemory(machineMemory()),
		Guard:          guard.DefaultConfig(),
		StartTimeout:   time.Minute,
		HangTimeout:    30 * time.Second,
		LockTimeout:    10 * time.Second,
		Grace:          5 * time.Second,
		BackoffMin:     50 * time.Millisecond,
		BackoffMax:     5 * time.Second,
		Log:            zerolog.Nop(),
	}
}

// defaultMemory is a quarter of the machine's memory, 4 GB at most; 4 GB if the machine's is unknown (0).
func defaultMemory(machine int64) int64 {
	const most = 4_000_000_000
	if machine <= 0 {
		return most
	}
	return min(most, machine/4)
}

// Validate returns the first error of the configuration.
func (c EngineConfig) Validate() error {
	if c.Library == "" || c.Dir == "" || len(c.Command) == 0 {
		return errors.New("the engine needs a library, a folder and a command")
	}
	if c.MaxMemoryBytes < 256<<20 {
		return fmt.Errorf("the engine's memory limit is %d bytes, the least is %d", c.MaxMemoryBytes, 256<<20)
	}
	if c.StartTimeout <= 0 || c.HangTimeout <= 0 || c.LockTimeout <= 0 || c.Grace <= 0 || c.BackoffMin <= 0 || c.BackoffMax < c.BackoffMin {
		return fmt.Errorf("the engine's times must be greater than zero: start %s, hang %s, lock %s, grace %s, back-off %s to %s",
			c.StartTimeout, c.HangTimeout, c.LockTimeout, c.Grace, c.BackoffMin, c.BackoffMax)
	}
	return c.Guard.Validate()
}

// Engine is ClickHouse in a child process, restarted whenever it ends, behind a guard. Methods other than Run may be
// called at any time by anyone.
type Engine struct {
	cfg      EngineConfig
	guard    *guard.Guard
	address  string // the guard's, known once ready
	ready    chan struct{}
	once     sync.Once
	port     int // the engine's last; only the supervising goroutine uses it
	pid      atomic.Int64
	restarts atomic.Int64
	shared   atomic.Bool // the engine listens on a port of the machine
}

// NewEngine checks the configuration. It starts nothing and touches no file.
func NewEngine(cfg EngineConfig) (*Engine, error) {
	if cfg.Guard.OwnerPassword == "" {
		cfg.Guard.OwnerPassword = rand.Text()
	}
	if cfg.Guard.ReaderPassword == "" {
		cfg.Guard.ReaderPassword = rand.Text()
	}
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	door, err := guard.New(cfg.Guard)
	if err != nil {
		return nil, err
	}
	for _, dir := range []*string{&cfg.Dir, &cfg.Library} {
		if *dir, err = filepath.Abs(*dir); err != nil {
			return nil, fmt.Errorf("find the engine's folder: %w", err)
		}
	}
	e := &Engine{cfg: cfg, guard: door, ready: make(chan struct{})}
	e.shared.Store(cfg.ShareNetwork)
	return e, nil
}

// Run keeps the engine and its guard running until ctx ends; then requests under way may finish (Guard.Grace), the
// child ends, and Run returns nil. It returns an error if the engine cannot be started the first time; once it has
// answered, it is restarted for ever.
func (e *Engine) Run(ctx context.Context) error {
	for _, dir := range []string{e.cfg.Dir, e.dataDir()} {
		if err := durable.MakeFolder(dir); err != nil {
			return fmt.Errorf("make the engine's folder: %w", err)
		}
	}
	address, err := e.guard.Listen(ctx)
	if err != nil {
		return err
	}
	e.address = address
	// The engine outlives ctx until the guard's last requests are answered.
	engineCtx, stopEngine := context.WithCancel(context.WithoutCancel(ctx))
	defer stopEngine()
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer stopEngine()
		return e.guard.Run(groupCtx)
	})
	group.Go(func() error { return e.supervise(engineCtx) })
	return group.Wait()
}

// Ready is closed when the engine has answered for the first time. DSN and Address are valid from then on.
func (e *Engine) Ready() <-chan struct{} { return e.ready }

// Address returns the guard's host:port; empty before Ready.
func (e *Engine) Address() string {
	select {
	case <-e.ready:
		return e.address
	default:
		return ""
	}
}

// Password returns the guard's password of guard.Owner or guard.Reader; empty for anyone else.
func (e *Engine) Password(user string) string {
	switch user {
	case guard.Owner:
		return e.cfg.Guard.OwnerPassword
	case guard.Reader:
		return e.cfg.Guard.ReaderPassword
	default:
		return ""
	}
}

// DSN returns an address for clickhouse.ParseDSN, for guard.Owner or guard.Reader, through the guard, which stays at
// its place while the engine restarts. Valid after Ready.
func (e *Engine) DSN(user string) string {
	dsn := url.URL{Scheme: "http", User: url.UserPassword(user, e.Password(user)), Host: e.Address()}
	return dsn.String()
}

// PID returns the child's process id, 0 while there is none.
func (e *Engine) PID() int { return int(e.pid.Load()) }

// Apart says whether the engine has a network of its own, so that nobody else on the machine reaches its port. Valid after
// Ready.
func (e *Engine) Apart() bool { return !e.shared.Load() }

// Restarts counts the starts after the first.
func (e *Engine) Restarts() int64 { return e.restarts.Load() }

func (e *Engine) dataDir() string { return filepath.Join(e.cfg.Dir, "data") }

// freePort returns the last port while it is free, so that clients that remember it find the engine again; else
// another.
func (e *Engine) freePort(ctx context.Context) (int, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", e.port))
	if err != nil {
		listener, err = config.Listen(ctx, "tcp", "127.0.0.1:0")
	}
	if err != nil {
		return 0, fmt.Errorf("find a free port for the engine: %w", err)
	}
	_, text, err := net.SplitHostPort(listener.Addr().String())
	if err = errors.Join(err, listener.Close()); err != nil {
		return 0, fmt.Errorf("find a free port for the engine: %w", err)
	}
	return strconv.Atoi(text)
}
