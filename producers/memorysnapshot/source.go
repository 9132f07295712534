package memorysnapshot

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/zeebo/xxh3"

	"github.com/tensortap/tensortap/internal/pickle"
	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/producers/internal/batch"
	"github.com/tensortap/tensortap/producers/internal/content"
)

// source is one snapshot.
type source struct {
	content.Content
	file *file
}

func (f *file) source(run string, progress func(int64)) *source {
	s := &source{file: f}
	s.Content = content.Content{Run: run, Rank: f.rank, EventTimeNs: f.modTimeNs, Bytes: f.bytes, Progress: progress, Read: s.read}
	return s
}

// open hashes the file, which must not change until it is read, with its step: two snapshots may hold the same.
func (f *file) open(run string, progress func(int64)) (producers.Source, error) {
	hasher := xxh3.New()
	_, _ = fmt.Fprintf(hasher, "%d\x00", f.step)
	if err := content.Hash(hasher, f.path, f.bytes); err != nil {
		return producers.Source{}, fmt.Errorf("open %s: %w", f.path, err)
	}
	return f.source(run, progress).Opened(hasher.Sum64(), f.step), nil
}

func (s *source) read(ctx context.Context, out *batch.Set) error {
	input, err := os.Open(s.file.path)
	if err != nil {
		return err
	}
	defer input.Close() //nolint:errcheck // only read
	shot := &snapshot{}
	in := pickle.NewScanner(io.LimitReader(input, s.file.bytes))
	shot.machine = newMachine(in, shot)
	err = shot.machine.run(func() error {
		s.Tell(in.Read())
		return context.Cause(ctx)
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := newPass(s, shot, out, err).run(); err != nil {
		return fmt.Errorf("read the snapshot %s: %w", s.file.path, err)
	}
	return nil
}

// snapshot is what was read of a file.
type snapshot struct {
	machine  *machine
	devices  map[int]*device
	events   int64
	segments bool // all were read
	traces   bool
}

func (s *snapshot) device(number int) *device {
	if s.devices == nil {
		s.devices = map[int]*device{}
	}
	if s.devices[number] == nil {
		s.devices[number] = newDevice()
	}
	return s.devices[number]
}

const mostDevices = 1 << 10

func (s *snapshot) segment(c *container, blocks []block) {
	s.device(int(c.size(fieldDevice)%mostDevices)).segment(c, blocks)
}

func (s *snapshot) event(device int, c *container) {
	s.events++
	action := ""
	if v := c.get(fieldAction); v.kind == text {
		action = s.machine.known.texts[v.n]
	}
	s.device(device%mostDevices).course.add(action, c)
}

func (s *snapshot) ended(part field) {
	s.segments = s.segments || part == fieldSegments
	s.traces = s.traces || part == fieldTraces
}
