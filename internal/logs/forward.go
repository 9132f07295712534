package logs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// Times of the forwarder.
const (
	look      = 20 * time.Millisecond // longest wait of a line
	timeEvery = time.Second           // how exactly the time of a line is known
	capEvery  = time.Second
)

const pieceBytes = 64 << 10

// Forwarder hands on the output of the processes of a launch.
type Forwarder struct {
	Launch   Launch
	Out, Err io.Writer
	Now      func() time.Time

	tails map[string]*tail
	times *os.File
	gone  map[io.Writer]bool // its reader has closed it
}

// tail is the part of one file that is handed on.
type tail struct {
	file
	from   *os.File
	to     io.Writer
	at     int64
	seen   int64     // size when a line was met that has no end
	marked time.Time // when the time was noted last
	told   bool      // a line begins at
}

// During hands on the output while job runs, and the rest after it. It returns the error of job; its own faults are
// a line on Err, and not the job's.
func (f *Forwarder) During(ctx context.Context, job func() error) error {
	f.tails, f.gone = map[string]*tail{}, map[io.Writer]bool{}
	times, err := os.OpenFile(filepath.Join(string(f.Launch), timesName), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return errors.Join(job(), fmt.Errorf("note when processes printed what: %w", err))
	}
	f.times = times
	running, stop := context.WithCancel(ctx)
	var group errgroup.Group // where nothing can be handed on, files are bounded all the same
	group.Go(func() error { return every(running, look, f.round) })
	group.Go(func() error { return every(running, capEvery, f.Launch.bound) })
	err = job()
	stop()
	failed := group.Wait()
	if failed == nil {
		failed = f.rest()
	}
	if failed != nil {
		_, _ = fmt.Fprintln(f.Err, "run: not all that the processes print is handed on, it is kept in", string(f.Launch)+":", failed)
	}
	return err
}

// every calls do until ctx ends.
func every(ctx context.Context, wait time.Duration, do func() error) error {
	ticker := time.NewTicker(wait)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if err := do(); err != nil {
				return err
			}
		}
	}
}

// rest hands on all that is there, lines without an end too.
func (f *Forwarder) rest() error {
	err := f.round()
	if err == nil {
		err = f.round() // a line without an end waits for one round
	}
	for _, t := range f.tails {
		err = errors.Join(err, t.from.Close())
	}
	return errors.Join(err, f.times.Close(), f.Launch.tidy())
}

// round looks once at every file.
func (f *Forwarder) round() error {
	files, err := f.Launch.files()
	if err != nil {
		return err
	}
	for _, one := range files {
		t, err := f.tail(one)
		if err == nil {
			err = f.advance(t)
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", one.name, err)
		}
	}
	return nil
}

func (f *Forwarder) tail(one file) (*tail, error) {
	if known := f.tails[one.name]; known != nil {
		return known, nil
	}
	from, err := f.Launch.open(one)
	if err != nil {
		return nil, err
	}
	t := &tail{file: one, from: from, to: f.Out, told: true}
	if one.stderr {
		t.to = f.Err
	}
	f.tails[one.name] = t
	return t, nil
}

// advance hands on the new part of a file: whole lines, and a line without an end once it has stopped growing for a
// round, so that lines of different processes do not mix.
func (f *Forwarder) advance(t *tail) error {
	piece := make([]byte, pieceBytes)
	for {
		if err := t.skip(); err != nil {
			return err
		}
		n, err := t.from.ReadAt(t.unbroken(piece), t.at)
		if n == 0 {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return err
		}
		whole := bytes.LastIndexAny(piece[:n], "\r\n") + 1
		if whole == 0 && n < len(piece) && t.seen != t.at+int64(n) {
			t.seen = t.at + int64(n)
			return nil
		}
		if whole == 0 {
			whole = n
		}
		if err := f.hand(t, piece[:whole]); err != nil {
			return err
		}
	}
}

// skip leaves out the part that was given up before it could be handed on, because nobody read the output
// for long.
func (t *tail) skip() error {
	info, err := t.from.Stat()
	if err != nil || t.at < keptHead || info.Size()-keptTail <= t.at {
		return err
	}
	lost := info.Size() - keptTail - t.at
	t.at += lost
	_, err = fmt.Fprintf(t.to, "\nrun: %d bytes that process %d printed are left out, since nobody read them\n", lost, t.pid)
	return err
}

// unbroken is the part of the piece that does not reach from the kept beginning into the part that may be given
// up.
func (t *tail) unbroken(piece []byte) []byte {
	if t.at >= keptHead {
		return piece
	}
	return piece[:min(int64(len(piece)), keptHead-t.at)]
}

func (f *Forwarder) hand(t *tail, text []byte) error {
	if now := f.Now(); t.told && now.Sub(t.marked) >= timeEvery {
		t.marked = now
		if _, err := fmt.Fprintln(f.times, t.name, t.at, now.UnixNano()); err != nil {
			return err
		}
	}
	t.at += int64(len(text))
	t.told = text[len(text)-1] == '\n'
	if f.gone[t.to] {
		return nil
	}
	_, err := t.to.Write(text)
	if errors.Is(err, unix.EPIPE) { // its reader has seen enough; the program goes on
		f.gone[t.to] = true
		return nil
	}
	return err
}

// bound gives up the middle of files that have grown too large: their processes are not disturbed by that.
func (l Launch) bound() error {
	files, err := l.files()
	if err != nil {
		return err
	}
	for _, one := range files {
		info, err := os.Stat(filepath.Join(string(l), one.name))
		if err != nil || info.Size() <= keptHead+keptTail {
			continue
		}
		if err := l.punch(one, info.Size()); err != nil {
			return fmt.Errorf("give up the middle of %s: %w", one.name, err)
		}
	}
	return nil
}

func (l Launch) punch(one file, size int64) error {
	to, err := l.open(one)
	if err != nil {
		return err
	}
	err = unix.Fallocate(int(to.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, keptHead, size-keptHead-keptTail) //nolint:gosec // small
	return errors.Join(err, to.Close())
}
