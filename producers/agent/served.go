package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/tensortap/tensortap/internal/durable"
	"github.com/tensortap/tensortap/schemas"
)

// retiredSuffix marks the folder of a process that was published whole, while it is being removed.
const retiredSuffix = ".done"

// errServedElsewhere says that another agent has the folder.
var errServedElsewhere = errors.New("another agent serves it")

// served is one process's folder, under way.
type served struct {
	agent  *Agent
	cfg    *Config
	counts *Counts
	name   string // of the folder

	root, in    *os.Root // all folders, and this one
	lock        *os.File
	definitions *definitions
	cuts        *cuts
	publisher   Publisher
	about       about
	start       Start
	first       uint32 // number of its first step
	t           *translator

	mutex     sync.Mutex // guards the fields below against look and ask
	header    *header
	admitted  *about            // once the process is
	answers   map[uint32]Answer // to the last requests, by their sequence
	rivals    map[uint64]bool   // epochs of processes that say they are this rank, too
	overtaken uint32            // request that another took the place of, unanswered
	poked     struct {          // the op that was named last: to find a name takes all definitions
		op   uint32
		name string
	}

	sum          uint32    // of the records and definitions of the window that is being made
	frontier     uint64    // records before it are written, or given up
	skipped      []uint64  // given up between the position and the frontier
	since        time.Time // when the first record behind the position was seen
	stepEnded    bool      // one of those records ends a step
	stalled      stall
	signAt       time.Time // when a sign of life was published
	signNs       int64     // and its own time
	signDebugged int64     // and since when a person held the process up then
	workedAt     time.Time // when something was published
	aliveAt      time.Time // when the process was looked for
	life         life
	behind       atomic.Int64 // of life, for others
	waitingSince atomic.Int64 // when the first record came that is not acknowledged, in ns; 0 where there is none
	gone         bool         // the process is over without a word
}

// stall is a record that is not written while others behind it are.
type stall struct {
	position uint64
	since    time.Time
}

// run serves the folder until its process has ended and all is published.
func (s *served) run(ctx context.Context) (err error) {
	// A mapped file that is cut short behind our back is an error, not the agent's end.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("read the spool, which someone may have cut short: %v", r)
		}
		err = errors.Join(err, s.close())
	}()
	if err := s.open(ctx); err != nil {
		return err
	}
	s.tell("serving " + s.title())
	for !s.t.Closed {
		worked, err := s.turn(ctx)
		if worked {
			s.workedAt = s.cfg.Now()
		} else if err == nil {
			err = s.pause(ctx)
		}
		if err != nil {
			return err
		}
	}
	return s.retire(ctx)
}

func (s *served) tell(text string) {
	if s.isTold() {
		s.cfg.Tell(text)
	}
}

// isTold says whether the process is of a run that is told of, as far as it is known.
func (s *served) isTold() bool {
	return s.cfg.Of == "" || s.about.run.Name == "" || s.about.run.Name == s.cfg.Of
}

func (s *served) title() string {
	return fmt.Sprintf("run %s, rank %d, process %d", s.about.run.Name, s.about.rank.Rank, s.header.load().PID)
}

func (s *served) pause(ctx context.Context) error {
	const idle, rarely = time.Second, 5
	wait := s.cfg.PollEvery
	if s.cfg.Now().Sub(s.workedAt) > idle {
		wait *= rarely
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// look shows the process that an agent is there, and says how many records it has dropped so far.
func (s *served) look(now time.Time) (dropped uint64) {
	s.withHeader(func() {
		s.header.look(now)
		dropped = s.header.load().DroppedCount
	})
	return dropped
}

// withHeader calls f with the page, if there is one. Run reports a page that was cut short meanwhile.
func (s *served) withHeader(do func()) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		r := recover()
		if _, isFault := r.(interface{ Addr() uintptr }); r != nil && !isFault {
			panic(r) //nolint:forbidigo // a fault of our own, which goes on as it came
		}
	}()
	if s.header != nil {
		do()
	}
}

func (s *served) setAdmitted() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.admitted = &s.about
}

func (s *served) setHeader(h *header) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.header = h
}

// open takes the folder and finds out where it stands.
func (s *served) open(ctx context.Context) error {
	if err := s.openFolder(); err != nil {
		return err
	}
	header, err := openHeader(s.in)
	if err != nil {
		return err
	}
	s.setHeader(header)
	if epoch := header.load().Epoch; !strings.HasSuffix(s.name, fmt.Sprintf("-%016x", epoch)) {
		return fmt.Errorf("its header is that of another process, %016x: put its own back, or remove the folder", epoch)
	}
	if err := s.takeLock(); err != nil {
		return err
	}
	if s.definitions, err = openDefinitions(s.in); err != nil {
		return err
	}
	head := header.load()
	if s.about, err = readAbout(s.definitions, head); err != nil {
		return err
	}
	place, err := s.admit(ctx, head.Epoch)
	if err != nil {
		return err
	}
	if s.about.appends {
		s.first = place.From
	}
	header.look(s.cfg.Now())
	s.setAdmitted()
	if s.publisher, err = s.cfg.Stream.NewPublisher(); err != nil {
		return err
	}
	if s.cuts, err = openCuts(s.cfg.Disk, s.in, header.load().Epoch); err != nil {
		return err
	}
	id := schemas.Identity{RunID: s.start.RunID, Rank: s.start.Rank, Epoch: s.start.Epoch}
	s.t = &translator{
		state: &state{}, generation: place.Generation, first: s.first, known: &catalogue{}, counts: s.counts,
		out:  newBatches(id, s.cfg.BatchRows),
		from: &segments{in: s.in, rows: uint64(head.SegmentRows), epoch: head.Epoch, layout: head.Version},
	}
	if err := s.resume(ctx); err != nil {
		return err
	}
	s.life.behind, s.life.met = time.Duration(s.t.Behind), s.t.Window > 0
	s.behind.Store(s.t.Behind)
	return nil
}

func (s *served) openFolder() error {
	var err error
	if s.root, err = openRoot(s.cfg.Root); err != nil {
		return err
	}
	s.in, err = openOwn(s.root.Lstat, s.root.OpenRoot, s.name)
	if missing(err) { // another agent has published it meanwhile
		return errNotReady
	}
	return err
}

func (s *served) takeLock() error {
	file, err := openFile(s.in, lockFile, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return err
	}
	s.lock = file
	if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return errServedElsewhere
	}
	return nil
}

func (s *served) close() error {
	var all []error
	if s.cfg.Stream.Leave != nil {
		s.cfg.Stream.Leave(s.start)
	}
	if s.publisher != nil {
		s.publisher.Close()
	}
	if s.t != nil {
		all = append(all, s.t.from.close())
	}
	if s.cuts != nil {
		all = append(all, s.cuts.close())
	}
	if s.definitions != nil {
		all = append(all, s.definitions.close())
	}
	if s.header != nil {
		h := s.header
		s.setHeader(nil)
		all = append(all, h.close())
	}
	if s.lock != nil {
		all = append(all, durable.Unlock(s.lock))
	}
	for _, folder := range []*os.Root{s.in, s.root} {
		if folder != nil {
			all = append(all, folder.Close())
		}
	}
	return errors.Join(all...)
}
