package memorysnapshot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/zeebo/xxh3"

	"github.com/tensortap/tensortap/internal/pickle"
	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/producers/internal/batch"
	"github.com/tensortap/tensortap/schemas"
)

const rowsPerBatch = 8192

// source is one snapshot. It is not safe for use by several goroutines.
type source struct {
	file        *file
	run         string
	epoch       uint64
	eventTimeNs int64
	progress    func(bytesRead int64)
	problems    producers.Problems
}

func (f *file) source(run string, progress func(int64)) *source {
	return &source{file: f, run: run, eventTimeNs: f.modTimeNs, progress: progress}
}

// open hashes the file, which must not change until it is read, with its step: two snapshots may hold the same.
func (f *file) open(run string, progress func(int64)) (producers.Source, error) {
	hasher := xxh3.New()
	_, _ = fmt.Fprintf(hasher, "%d\x00", f.step)
	input, err := os.Open(f.path)
	if err != nil {
		return producers.Source{}, err
	}
	defer input.Close() //nolint:errcheck // only read
	n, err := io.Copy(hasher, io.LimitReader(input, f.bytes))
	if err == nil && n != f.bytes {
		err = errors.New("it is shorter than before: it is being written")
	}
	if err != nil {
		return producers.Source{}, fmt.Errorf("open %s: %w", f.path, err)
	}
	s := f.source(run, progress)
	s.epoch = schemas.FileEpoch(hasher.Sum64(), f.step, 0)
	return producers.Source{
		Digest: hasher.Sum64(), Bytes: f.bytes, Content: s, Problems: func() producers.Problems { return s.problems },
	}, nil
}

// Reissue makes the next Batches carry another epoch and time than open gave them. A snapshot takes nobody's place.
func (s *source) Reissue(epoch uint64, _ uint32, eventTimeNs int64) {
	s.epoch, s.eventTimeNs = epoch, eventTimeNs
}

// Batches returns the rows as messages. A second call begins anew, with the same messages.
func (s *source) Batches(ctx context.Context) iter.Seq2[schemas.Message, error] {
	return batch.Messages(ctx, s.identity, rowsPerBatch, s.read)
}

func (s *source) identity() schemas.Identity {
	return schemas.Identity{RunID: schemas.RunID(s.run), Rank: s.file.rank, Epoch: s.epoch}
}

func (s *source) read(ctx context.Context, out *batch.Set) error {
	s.problems = producers.Problems{}
	input, err := os.Open(s.file.path)
	if err != nil {
		return err
	}
	defer input.Close() //nolint:errcheck // only read
	shot := &snapshot{}
	in := pickle.NewScanner(io.LimitReader(input, s.file.bytes))
	shot.machine = newMachine(in, shot)
	err = shot.machine.run(func() error {
		if s.progress != nil {
			s.progress(in.Read())
		}
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
