package sglangshapes

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/zeebo/xxh3"

	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/producers/internal/batch"
	"github.com/tensortap/tensortap/schemas"
)

// rowsPerBatch cuts batches by rows, so that they depend on the content alone.
const rowsPerBatch = 8192

// source is one step of a log. It is not safe for use by several goroutines.
type source struct {
	log         *log
	step        *step
	run         string
	epoch       uint64
	generation  uint32
	eventTimeNs int64
	progress    func(bytesRead int64)
	problems    producers.Problems
}

// open hashes the step's lines, which must not change until they are read.
func open(l *log, s *step, run string, progress func(int64)) (producers.Source, error) {
	hasher := xxh3.New()
	err := eachSpan(l, s, func(part io.Reader, at span) error {
		n, err := io.Copy(hasher, part)
		_, _ = hasher.Write(binary.LittleEndian.AppendUint64(nil, uint64(n))) //nolint:gosec // never negative
		if err == nil && n != at.to-at.from {
			err = errors.New("it is shorter than before: it is being written")
		}
		return err
	})
	if err != nil {
		return producers.Source{}, fmt.Errorf("open forward pass %d of %s: %w", s.number, l.path, err)
	}
	opened := &source{log: l, step: s, run: run, eventTimeNs: l.modTimeNs, progress: progress}
	opened.epoch = schemas.FileEpoch(hasher.Sum64(), s.number, 0)
	return producers.Source{
		Digest: hasher.Sum64(), Bytes: s.bytes(), Content: opened,
		Problems: func() producers.Problems { return opened.problems },
	}, nil
}

// eachSpan opens the file and gives each of the step's parts.
func eachSpan(l *log, s *step, each func(part io.Reader, at span) error) error {
	input, err := os.Open(l.path)
	if err != nil {
		return err
	}
	defer input.Close() //nolint:errcheck // only read
	for _, at := range s.ranges {
		if err := each(io.NewSectionReader(input, at.from, at.to-at.from), at); err != nil {
			return err
		}
	}
	return nil
}

// Reissue makes the next Batches carry another epoch, generation and time than open gave them.
func (s *source) Reissue(epoch uint64, generation uint32, eventTimeNs int64) {
	s.epoch, s.generation, s.eventTimeNs = epoch, generation, eventTimeNs
}

// Batches returns the step's rows as messages. A second call begins anew, with the same messages.
func (s *source) Batches(ctx context.Context) iter.Seq2[schemas.Message, error] {
	return batch.Messages(ctx, s.identity, rowsPerBatch, s.read)
}

func (s *source) identity() schemas.Identity {
	return schemas.Identity{RunID: schemas.RunID(s.run), Rank: s.log.rank, Epoch: s.epoch}
}

func (s *source) read(ctx context.Context, out *batch.Set) error {
	p, err := newPass(s, out)
	if err == nil {
		err = p.run(ctx)
	}
	if err != nil {
		return fmt.Errorf("read forward pass %d of %s: %w", s.step.number, s.log.path, err)
	}
	s.problems = p.problems
	return nil
}
