// Package follow publishes files of lines while they are written, each line once.
package follow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/zeebo/xxh3"
	"golang.org/x/sys/unix"

	"github.com/tensortap/tensortap/schemas"
)

// File is one that is followed. Its identity stays the same for as long as its lines go on.
type File struct {
	ID     string // of it among the files of the follower
	Path   string
	Stream string
	PID    int64 // that writes it; 0 when not known
}

// Publisher is the way to the stream.
type Publisher interface {
	// Publish sends a message. It blocks while the stream takes nothing.
	Publish(ctx context.Context, m schemas.Message) error
	// Flush waits until the stream has acknowledged every message.
	Flush(ctx context.Context) error
}

// Config says what is followed, and where what was published is noted.
type Config struct {
	State string // file of that; whoever has it locked follows
	RunID uint64
	Rank  *uint32 // of records of logging; nil for lines, which are of none
	Host  string
	// Files are those that there are now. With ended, nothing will be written to them any more.
	Files func() (files []File, ended bool, err error)
	// Where is the path that a file has now which had another; nil where files keep theirs.
	Where     func(id, path string) string
	LineTimes bool // a line's own time is its time, where it has one; else when it was read
	Publisher Publisher
	Now       func() time.Time
}

// Times and sizes of a follower.
const (
	look      = 50 * time.Millisecond // how often files are looked at
	patience  = 500 * time.Millisecond
	mostPart  = 1 << 20 // bytes of a file in a window
	mostParts = 4 << 20 // bytes of a window, whose rows are in memory
	roleEvery = 5 * time.Second
)

// follower has the state open and locked.
type follower struct {
	cfg   Config
	state *state
	tails map[string]*tail
}

// tail is what is known of a file in memory alone.
type tail struct {
	size  int64     // at the last look
	since time.Time // of unread bytes
	role  string
	asked time.Time
}

// Run follows until all is published that will be written, or ctx ends. Held says that another process follows.
func Run(ctx context.Context, cfg Config) (held bool, err error) {
	opened, held, err := openState(cfg.State, func() uint64 {
		return xxh3.HashString(fmt.Sprintf("%s\x00%s\x00%d", cfg.Host, cfg.State, cfg.Now().UnixNano()))
	})
	if err != nil || held || opened.done {
		return held, errors.Join(err, opened.close())
	}
	f := &follower{cfg: cfg, state: opened, tails: map[string]*tail{}}
	err = f.run(ctx)
	return false, errors.Join(err, opened.close())
}

func (f *follower) run(ctx context.Context) error {
	if c := f.state.open; c != nil { // cut before, and perhaps published
		if err := f.publish(ctx, c); err != nil {
			return f.ended(ctx, err)
		}
	}
	for {
		files, ended, err := f.cfg.Files()
		if err != nil {
			return err
		}
		more, err := f.round(ctx, files, ended)
		if err != nil {
			return f.ended(ctx, err)
		}
		if ended && !more {
			return f.state.finish()
		}
		if more {
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(look):
		}
	}
}

// ended is no error where the follower is told to end.
func (f *follower) ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // what is not published is, by the next
	}
	return err
}

// round cuts and publishes a window, if there is anything to publish.
func (f *follower) round(ctx context.Context, files []File, ended bool) (more bool, err error) {
	c := f.state.next(f.cfg.Now())
	bytes := int64(0)
	for _, file := range files {
		p, err := f.part(file, ended)
		if err != nil {
			return false, fmt.Errorf("read %s: %w", file.Path, err)
		}
		if p == nil {
			continue
		}
		c.Parts = append(c.Parts, *p)
		if bytes += p.To - p.From; bytes >= mostParts {
			break
		}
	}
	if len(c.Parts) == 0 {
		return false, nil
	}
	if err := f.state.cut(c); err != nil {
		return false, err
	}
	return true, f.publish(ctx, c)
}

// part is the new lines of a file; nil if there are none, or more of them are about to come.
func (f *follower) part(file File, ended bool) (*part, error) { //nolint:revive // flag-parameter: a fact about the file
	info, err := os.Stat(file.Path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil //nolint:nilnil // it was removed
	}
	if err != nil {
		return nil, err
	}
	from, size, t := f.state.at[file.ID], info.Size(), f.tail(file.ID)
	if f.cfg.Rank != nil {
		if size, err = written(file.Path, from, size); err != nil {
			return nil, err
		}
	}
	if size < from || size < t.size { // truncated
		lost := &part{ID: file.ID, Path: file.Path, Stream: file.Stream, PID: file.PID, Role: t.role, From: from, To: t.size}
		if t.size = size; lost.To > from {
			return lost, nil
		}
		from = 0
	}
	if size == from {
		return nil, nil //nolint:nilnil // there is nothing
	}
	now := f.cfg.Now()
	if t.since.IsZero() {
		t.since = now
	}
	grown := size != t.size
	if t.size = size; grown && !ended && size-from < mostPart && now.Sub(t.since) < patience {
		return nil, nil //nolint:nilnil // lines that belong together come together
	}
	p, err := f.cutFile(file.Path, from, size, ended)
	if p == nil || err != nil {
		return nil, err
	}
	t.since = time.Time{}
	p.ID, p.Path, p.Stream, p.PID, p.Role = file.ID, file.Path, file.Stream, file.PID, f.roleOf(t, file.PID, now)
	return p, nil
}

func (f *follower) tail(id string) *tail {
	t := f.tails[id]
	if t == nil {
		t = &tail{}
		f.tails[id] = t
	}
	return t
}

func (f *follower) roleOf(t *tail, pid int64, now time.Time) string {
	if pid > 0 && now.Sub(t.asked) >= roleEvery {
		if role := RoleOf(pid); role != "" {
			t.role = role
		}
		t.asked = now
	}
	return t.role
}

// cutFile is the next part of a file, or the hole that comes next: what was given up, as nobody read it.
func (f *follower) cutFile(path string, from, size int64, ended bool) (*part, error) {
	input, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer input.Close()    //nolint:errcheck // only read
	if f.cfg.Rank != nil { // what was allocated for records looks like a hole on some file systems
		return cutPart(input, from, size, ended)
	}
	if data, err := unix.Seek(int(input.Fd()), from, unix.SEEK_DATA); err == nil && data > from { //nolint:gosec // small
		return &part{From: from, To: min(data, size)}, nil
	}
	return cutPart(input, from, size, ended)
}

// cutPart is whole lines, or what there is of one that is too long, or the last.
func cutPart(input io.ReaderAt, from, size int64, ended bool) (*part, error) { //nolint:revive // flag-parameter: a fact about the file
	text := make([]byte, min(size-from, mostPart))
	n, err := input.ReadAt(text, from)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	text = text[:n]
	whole := 0
	for i := len(text); i > 0 && whole == 0; i-- {
		if text[i-1] == '\n' {
			whole = i
		}
	}
	if whole == 0 {
		if !ended && len(text) < mostPart || len(text) == 0 {
			return nil, nil //nolint:nilnil // the line is not whole
		}
		whole = len(text)
	}
	if ended && int64(len(text)) == size-from {
		whole = len(text)
	}
	return &part{From: from, To: from + int64(whole), Sum: xxh3.Hash(text[:whole])}, nil
}
