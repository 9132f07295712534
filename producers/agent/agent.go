// Package agent serves the processes of a host that are observed by the collector.
//
// Each process writes its records into a folder of its own below the spool root (producers/torch/SPOOL.md). An
// [Agent] finds those folders, turns their records into rows, publishes these, and deletes acknowledged records. It
// may be killed at any time: before a message leaves, the bounds of its batches are on disk, so that the next agent
// makes the very same messages under the same ids.
package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/internal/durable"
	"github.com/tensortap/tensortap/schemas"
)

// Publisher sends messages and knows when the stream has them.
type Publisher interface {
	// Publish sends a message. It blocks while the stream takes nothing.
	Publish(ctx context.Context, m schemas.Message) error
	// Flush waits until the stream has acknowledged every message.
	Flush(ctx context.Context) error
	// Close gives up what is not acknowledged. Nothing else is called after it.
	Close()
}

// Start is one start of a process, which asks to be published as a rank of a run.
type Start struct {
	RunID  uint64
	Rank   uint32
	Epoch  uint64
	Resume bool   // it may go on with a rank that has ended
	Launch string // by which the process began; empty where that is not known
	World  uint32 // ranks of the run, as far as the process knows; 0 for not known
	Apart  bool   // another process of that launch may have the rank, whose place this one does not take
}

// Place is that of a process in its run.
type Place struct {
	Rank       uint32 // the one asked for or, where another process of the launch has that, one of its own
	Generation uint32 // of its steps: which start of the rank this is, from 0
	From       uint32 // the first step behind all that earlier starts have ended
}

// Stream is the agent's way to the stream.
type Stream struct {
	// NewPublisher makes a publisher for one process.
	NewPublisher func() (Publisher, error)
	// Admit gives the process its place, and the same when asked again. Its error refuses the process.
	Admit func(ctx context.Context, s Start) (Place, error)
	// Refuse has Admit refuse the process for good, as it lives beside the one that is this rank.
	Refuse func(ctx context.Context, s Start) error
	// Leave ends what Admit began to hear for the process; nil if nothing.
	Leave func(s Start)
	// Finish notes that the process is gone, by itself or not, and the number behind that of its last step.
	Finish func(ctx context.Context, s Start, ended bool, next uint32) error
}

// Config has the agent's folders, stream and intervals.
type Config struct {
	Root     string // folder of the processes' folders; need not exist yet
	Payloads string // folder below which processes keep raw tensors when asked to; need not exist yet
	Resume   bool   // ranks that have ended may be started again under the same run
	Owner    Owner  // whom the root is taken for; nobody when it has no stream
	Patient  bool   // while the root is taken for another, it is left alone; else that is an error
	Stream   Stream
	Tell     func(text string) // gets a line about each process served; calls may overlap
	Of       string            // only processes of this run are told of; empty for all
	Now      func() time.Time
	Disk     durable.Disk // what is written down goes there: to the system's, unless a test watches it

	ScanEvery      time.Duration // interval of looking for new processes, and of the agent's own signs of life
	PollEvery      time.Duration // how often a process's records are looked at
	BatchAge       time.Duration // after which records are published, few as they are
	BatchRows      int           // rows of a message
	WindowRecords  int           // most records that are published together
	CheckpointRows uint64        // records after which the state is written down in the midst of a step
	HeartbeatEvery time.Duration // how often a sign of life is published
	StallAfter     time.Duration // time after which a missing record before later ones is given up
	DeadAfter      time.Duration // silence after which a process that is not found counts as dead
	RetryAfter     time.Duration // pause before a folder that failed or was refused is looked at again
}

// DefaultConfig suits one host. The caller sets Root, Payloads, Stream and Tell.
func DefaultConfig(root string, now func() time.Time) Config {
	return Config{
		Root: root, Now: now, Tell: func(string) {},
		ScanEvery: time.Second, PollEvery: 20 * time.Millisecond, BatchAge: 100 * time.Millisecond,
		BatchRows: 8192, WindowRecords: 1 << 16, CheckpointRows: 1 << 16,
		HeartbeatEvery: 10 * time.Second, StallAfter: 10 * time.Minute, DeadAfter: 5 * time.Second, RetryAfter: 5 * time.Second,
	}
}

// Counts is the work of an agent since it began. Its fields may be read at any time.
type Counts struct {
	Processes atomic.Int64  // served, now
	Messages  atomic.Uint64 // acknowledged by the stream
	Rows      atomic.Uint64 // in those messages
	Tensors   atomic.Uint64 // rows of tensor among them
	Skipped   atomic.Uint64 // records that were reserved and never written
	Damaged   atomic.Uint64 // definitions and records that could not be read
	Failures  atomic.Uint64 // times that a folder could not be served
	Dropped   atomic.Uint64 // records that processes could not keep, be it before this agent served them

	LetGo, LetGoBytes atomic.Uint64 // folders that nobody served, and that went by the rules of retention
}

// Agent serves the processes of a host. Run it once.
type Agent struct {
	cfg    Config
	counts Counts

	taken *claim // of the root; only Take and Run look at it

	mutex   sync.Mutex
	served  map[string]*served   // by the name of the folder
	later   map[string]time.Time // folders that are left alone until then
	said    map[string]string    // the last trouble reported of a folder
	dropped map[string]uint64    // records that the process of a folder dropped, as they are counted so far
	ranks   map[string]uint32    // that processes were given, by the name of the folder
}

// New returns an agent. It touches nothing yet.
func New(cfg Config) *Agent {
	return &Agent{cfg: cfg, served: map[string]*served{}, later: map[string]time.Time{}, said: map[string]string{}, dropped: map[string]uint64{}, ranks: map[string]uint32{}}
}

// Counts returns the work so far.
func (a *Agent) Counts() *Counts { return &a.counts }

// Take makes the root unless it is there, and takes it for the owner. Its error is a RootError or a HeldError when the
// root cannot be served. Run does the same.
func (a *Agent) Take() error {
	if err := os.MkdirAll(a.cfg.Root, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		a.trouble(a.cfg.Root, err)
	}
	root, err := a.enter()
	if err == nil {
		return root.Close()
	}
	held := (*HeldError)(nil)
	if a.cfg.Patient && errors.As(err, &held) {
		a.trouble(a.cfg.Root, err)
		return nil
	}
	if missing(err) {
		return nil
	}
	return err
}

// HasTaken says after Take whether it took the root.
func (a *Agent) HasTaken() bool { return a.taken != nil }

// enter opens the root, which is then this agent's to serve.
func (a *Agent) enter() (*os.Root, error) {
	root, err := openRoot(a.cfg.Root)
	if err != nil || a.cfg.Owner.Stream == "" || a.taken.is(root) {
		return root, err
	}
	a.leave() // it was removed, and made anew
	if a.taken, err = newClaim(root, a.cfg.Root, a.cfg.Owner); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return root, nil
}

func (a *Agent) leave() {
	if a.taken != nil {
		_ = durable.Unlock(a.taken.file) // nothing is written through it any more
		a.taken = nil
	}
}

// Run serves every process below the root until ctx ends. A folder that cannot be served is reported, and does not
// stop the others.
func (a *Agent) Run(ctx context.Context) error {
	if err := a.Take(); err != nil {
		return err
	}
	defer a.leave()
	group, ctx := errgroup.WithContext(ctx)
	ticker := time.NewTicker(a.cfg.ScanEvery)
	defer ticker.Stop()
	for {
		if err := a.scan(ctx, group); err != nil {
			a.trouble(a.cfg.Root, err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return group.Wait()
		}
	}
}

var folderName = regexp.MustCompile(`^[0-9]+-[0-9a-f]{16}$`)

// scan begins to serve folders that are new, and shows the others that an agent is there.
func (a *Agent) scan(ctx context.Context, group *errgroup.Group) error {
	root, err := a.enter()
	if missing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // only read
	names, err := namesIn(root)
	if err != nil {
		return err
	}
	now := a.cfg.Now()
	a.mutex.Lock()
	defer a.mutex.Unlock()
	for _, name := range names {
		if whole, ok := strings.CutSuffix(name, retiredSuffix); ok && folderName.MatchString(whole) {
			a.discard(root, name)
		}
		if !folderName.MatchString(name) || now.Before(a.later[name]) {
			continue
		}
		if s, ok := a.served[name]; ok {
			a.countDropped(name, s.look(now))
			continue
		}
		s := &served{agent: a, cfg: &a.cfg, counts: &a.counts, name: name, rivals: map[uint64]bool{}}
		a.served[name] = s
		group.Go(func() error {
			a.serve(ctx, name, s)
			return nil
		})
	}
	return nil
}

// discard removes the folder of a process that was published whole. Another agent may remove it at the
// same time.
func (a *Agent) discard(root *os.Root, name string) {
	if err := root.RemoveAll(name); err != nil {
		a.troubleLocked(name, err)
	}
}

// serve serves one folder until its process has ended and all is published.
func (a *Agent) serve(ctx context.Context, name string, s *served) {
	a.counts.Processes.Add(1)
	err := s.run(ctx)
	a.counts.Processes.Add(-1)
	a.mutex.Lock()
	defer a.mutex.Unlock()
	delete(a.served, name)
	pause := a.cfg.RetryAfter
	switch {
	case err == nil || ctx.Err() != nil:
		delete(a.later, name)
		delete(a.said, name)
		return
	case errors.Is(err, errServedElsewhere), errors.Is(err, errNotReady) && !a.isOld(name):
		pause = a.cfg.ScanEvery
	default:
		a.counts.Failures.Add(1)
		if s.isTold() {
			a.troubleLocked(name, err)
		}
	}
	a.later[name] = a.cfg.Now().Add(pause)
}

// isOld says whether the folder has been there for longer than a process needs to make it.
func (a *Agent) isOld(name string) bool {
	info, err := os.Lstat(filepath.Join(a.cfg.Root, name))
	return err == nil && a.cfg.Now().Sub(info.ModTime()) > time.Minute
}

// trouble reports a fault, once until it changes.
func (a *Agent) trouble(name string, err error) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.troubleLocked(name, err)
}

func (a *Agent) troubleLocked(name string, err error) {
	if text := err.Error(); a.said[name] != text {
		a.said[name] = text
		a.cfg.Tell(fmt.Sprintf("cannot serve %s: %s; trying again", name, text))
	}
}
