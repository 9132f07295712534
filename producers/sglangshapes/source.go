package sglangshapes

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/zeebo/xxh3"

	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/producers/internal/batch"
	"github.com/tensortap/tensortap/producers/internal/content"
)

// source is one step of a log.
type source struct {
	content.Content
	log  *log
	step *step
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
	opened := &source{log: l, step: s}
	opened.Content = content.Content{Run: run, Rank: l.rank, EventTimeNs: l.modTimeNs, Bytes: s.bytes(), Progress: progress, Read: opened.read}
	return opened.Opened(hasher.Sum64(), s.number), nil
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

func (s *source) read(ctx context.Context, out *batch.Set) error {
	p, err := newPass(s, out)
	if err == nil {
		err = p.run(ctx)
	}
	if err != nil {
		return fmt.Errorf("read forward pass %d of %s: %w", s.step.number, s.log.path, err)
	}
	return nil
}
