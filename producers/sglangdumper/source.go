package sglangdumper

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"

	"github.com/zeebo/xxh3"

	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/producers/internal/batch"
	"github.com/tensortap/tensortap/producers/internal/saved"
	"github.com/tensortap/tensortap/schemas"
)

// rowsPerBatch cuts batches by rows, so that they depend on the content alone.
const rowsPerBatch = 8192

// Source reads one dump. It is not safe for use by several goroutines.
type Source struct {
	dump        Dump
	run         string
	digest      uint64 // of the content
	epoch       uint64 // of the rows
	generation  uint32
	eventTimeNs int64
	bytes       int64
	progress    func(bytesRead int64)
	problems    producers.Problems
}

// Open hashes the dump's files. They must not change until the batches are read. Progress is called now and then with
// the bytes read so far, out of Source.Bytes; it may be nil.
func Open(dump Dump, run string, progress func(bytesRead int64)) (*Source, error) {
	s, err := newSource(dump, run, progress)
	if err != nil {
		return nil, err
	}
	hasher := xxh3.New()
	for _, f := range dump.files {
		if err := s.hash(hasher, f); err != nil {
			return nil, fmt.Errorf("open dump %s: read %s: %w", dump.Dir, f.name, err)
		}
	}
	s.digest = hasher.Sum64()
	s.epoch = schemas.FileEpoch(s.digest, s.dump.Step, 0)
	return s, nil
}

func newSource(dump Dump, run string, progress func(bytesRead int64)) (*Source, error) {
	if n := len([]rune(run)); n < 1 || n > 200 {
		return nil, fmt.Errorf("open dump %s: run name of %d characters, want 1 to 200", dump.Dir, n)
	}
	return &Source{dump: dump, run: run, eventTimeNs: dump.ModTimeNs, progress: progress}, nil
}

// hash adds a file to the hash of the dump's content: its name and length, then its bytes.
func (s *Source) hash(hasher *xxh3.Hasher, f file) error {
	input, err := os.Open(filepath.Join(s.dump.Dir, f.name))
	if err != nil {
		return err
	}
	defer input.Close()                                                                              //nolint:errcheck // only read
	_, _ = hasher.Write(binary.LittleEndian.AppendUint64(append([]byte(f.name), 0), uint64(f.size))) //nolint:gosec // never negative
	n, err := io.Copy(hasher, io.LimitReader(input, f.size))
	if err == nil && n != f.size {
		err = fmt.Errorf("%d bytes, had %d: it is being written", n, f.size)
	}
	s.bytes += n
	return err
}

// Digest is the hash of the dump's content: the same wherever and whenever it is read.
func (s *Source) Digest() uint64 { return s.digest }

// Reissue makes the next Batches carry another epoch, generation and time than Open gave them: those of the first
// publication of the content, or of a replacement.
func (s *Source) Reissue(epoch uint64, generation uint32, eventTimeNs int64) {
	s.epoch, s.generation, s.eventTimeNs = epoch, generation, eventTimeNs
}

// Bytes is the size of the dump's files.
func (s *Source) Bytes() int64 { return s.bytes }

// Problems returns the unreadable parts of the last call of Batches.
func (s *Source) Problems() producers.Problems { return s.problems }

// Batches returns the dump's rows as messages: definitions before the rows that refer to them, and the step last.
// An error ends them. A second call begins anew, with the same messages.
func (s *Source) Batches(ctx context.Context) iter.Seq2[schemas.Message, error] {
	return batch.Messages(ctx, s.identity, rowsPerBatch, s.read)
}

// rows hands the dump's rows over as they are.
func (s *Source) rows(ctx context.Context, to *producers.Rows) error {
	return s.read(ctx, batch.NewDirect(s.identity(), to))
}

func (s *Source) identity() schemas.Identity {
	return schemas.Identity{RunID: schemas.RunID(s.run), Rank: s.dump.Rank, Epoch: s.epoch}
}

func (s *Source) read(ctx context.Context, out *batch.Set) error {
	s.problems = producers.Problems{}
	rank := s.dump.rankRow(s.identity())
	step, err := saved.Begin(out, &rank, schemas.StepRow{Step: s.dump.Step, Generation: s.generation, EventTimeNs: s.eventTimeNs})
	if err == nil {
		p := &pass{source: s, calls: newCalls(), step: step}
		err = p.run(ctx)
	}
	if err != nil {
		return fmt.Errorf("read dump %s: %w", s.dump.Dir, err)
	}
	return nil
}
