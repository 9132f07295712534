package msprobe

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/producers/internal/batch"
	"github.com/tensortap/tensortap/schemas"
)

// Options say how a dump is published.
type Options struct {
	RunName      string
	Generation   uint32                // number of times that this step of this rank was replaced
	EventTimeNs  int64                 // of every row; 0 takes the dump's modification time
	RowsPerBatch int                   // batches are cut by rows (and by text beyond 2 MiB), so that they depend on the content alone
	Progress     func(bytesRead int64) // called now and then with the bytes read so far, out of Source.Bytes; may be nil
}

const maxRowsPerBatch = 32768

// DefaultOptions returns the options for a run of that name.
func DefaultOptions(runName string) Options {
	return Options{RunName: runName, RowsPerBatch: 8192}
}

// Validate returns the first error of the options.
func (o Options) Validate() error {
	if o.RunName == "" || len([]rune(o.RunName)) > 200 {
		return fmt.Errorf("run name of %d characters, want 1 to 200", len([]rune(o.RunName)))
	}
	if o.RowsPerBatch < 1 || o.RowsPerBatch > maxRowsPerBatch {
		return fmt.Errorf("%d rows per batch, want 1 to %d", o.RowsPerBatch, maxRowsPerBatch)
	}
	return nil
}

// Source reads one dump. It is not safe for use by several goroutines.
type Source struct {
	dump     Dump
	opt      Options
	files    []file
	digest   uint64 // of the content
	epoch    uint64 // of the rows
	bytes    int64
	problems Problems
	header   Header
}

// file is one of the dump's files as it was when its content was hashed.
type file struct {
	name string
	size int64
	time time.Time
}

// Open hashes the dump's files. They must not change until the batches are read.
func Open(dump Dump, opt Options) (*Source, error) {
	s, err := newSource(dump, opt)
	if err != nil {
		return nil, err
	}
	hasher := xxh3.New()
	for _, name := range files() {
		if err := s.hash(hasher, name); err != nil {
			return nil, fmt.Errorf("open dump %s: %w", dump.Dir, err)
		}
	}
	if err := s.someFile(); err != nil {
		return nil, err
	}
	s.digest = hasher.Sum64()
	s.epoch = schemas.FileEpoch(s.digest, s.dump.Step, 0)
	return s, nil
}

// files are the names of the files in the folder of a dump, in the order of hashing.
func files() []string { return []string{dumpFile, stackFile, constructFile, debugFile, errorLogFile} }

func newSource(dump Dump, opt Options) (*Source, error) {
	s := &Source{dump: dump, opt: opt}
	if err := opt.Validate(); err != nil {
		return s, fmt.Errorf("open dump %s: %w", dump.Dir, err)
	}
	if s.opt.EventTimeNs == 0 {
		s.opt.EventTimeNs = dump.ModTimeNs
	}
	return s, nil
}

func (s *Source) someFile() error {
	if !s.has(dumpFile) && !s.has(debugFile) {
		return fmt.Errorf("open dump %s: %w: neither %s nor %s in it", s.dump.Dir, ErrNoDump, dumpFile, debugFile)
	}
	return nil
}

// list notes the dump's files, as Open does, but does not read them. The epoch of the rows is 0.
func (s *Source) list() error {
	for _, name := range files() {
		info, err := os.Stat(filepath.Join(s.dump.Dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = s.note(name, info)
		}
		if err != nil {
			return fmt.Errorf("open dump %s: %w", s.dump.Dir, err)
		}
	}
	return s.someFile()
}

func (s *Source) note(name string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a file", name)
	}
	s.files = append(s.files, file{name: name, size: info.Size(), time: info.ModTime()})
	s.bytes += info.Size()
	return nil
}

// hash adds the file, if there is one, to the hash of the dump's content: its name and length, then its bytes.
func (s *Source) hash(hasher *xxh3.Hasher, name string) error {
	input, err := os.Open(filepath.Join(s.dump.Dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer input.Close() //nolint:errcheck // only read
	info, err := input.Stat()
	if err != nil {
		return err
	}
	if err := s.note(name, info); err != nil {
		return err
	}
	head := binary.LittleEndian.AppendUint64(append([]byte(name), 0), uint64(info.Size()))
	_, _ = hasher.Write(head) // a hash never fails
	n, err := io.CopyBuffer(hasher, io.LimitReader(input, info.Size()), make([]byte, windowBytes))
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	if n != info.Size() {
		return fmt.Errorf("read %s: %d bytes, had %d: it is being written", name, n, info.Size())
	}
	return nil
}

func (s *Source) has(name string) bool {
	_, ok := s.file(name)
	return ok
}

func (s *Source) file(name string) (file, bool) {
	for _, f := range s.files {
		if f.name == name {
			return f, true
		}
	}
	return file{}, false
}

// Digest is the hash of the dump's content: the same wherever and whenever it is read.
func (s *Source) Digest() uint64 { return s.digest }

// Step is the dump's step.
func (s *Source) Step() uint32 { return s.dump.Step }

// Rank is the dump's rank.
func (s *Source) Rank() uint32 { return s.dump.Rank }

// Reissue makes the next Batches carry another epoch, generation and time than Open gave them: those of the first
// publication of the content, or of a replacement.
func (s *Source) Reissue(epoch uint64, generation uint32, eventTimeNs int64) {
	s.epoch, s.opt.Generation, s.opt.EventTimeNs = epoch, generation, eventTimeNs
}

// Bytes is the size of the dump's files, saved tensors aside.
func (s *Source) Bytes() int64 { return s.bytes }

// Problems returns the unreadable parts of the last call of Batches.
func (s *Source) Problems() Problems { return s.problems }

// Header is the header of dump.json in the last call of Batches.
func (s *Source) Header() Header { return s.header }

// Batches returns the dump's rows as messages: definitions before the rows that refer to them, and the step last.
// An error ends them. A second call begins anew, with the same messages.
func (s *Source) Batches(ctx context.Context) iter.Seq2[schemas.Message, error] {
	return batch.Messages(ctx, s.identity, s.opt.RowsPerBatch, func(_ context.Context, out *batch.Set) error {
		with := newSession()
		if err := s.read(s.reading(out, with.graph), with); err != nil {
			return fmt.Errorf("read dump %s: %w", s.dump.Dir, err)
		}
		return nil
	})
}

// rows hands the dump's rows over as they are.
func (s *Source) rows(ctx context.Context, to *producers.Rows, with *session) error {
	r := s.reading(batch.NewDirect(s.identity(), to), with.graph)
	r.ended = ctx.Err
	if err := s.read(r, with); err != nil {
		return fmt.Errorf("read dump %s: %w", s.dump.Dir, err)
	}
	return nil
}

func (s *Source) identity() schemas.Identity {
	return schemas.Identity{RunID: schemas.RunID(s.opt.RunName), Rank: s.dump.Rank, Epoch: s.epoch}
}

func (s *Source) reading(out *batch.Set, graph *graph) *reading {
	s.problems = Problems{}
	graph.grow(s.bytes)
	return &reading{
		out: out, graph: graph, dir: s.dump.Dir,
		eventTimeNs: s.opt.EventTimeNs, step: s.dump.Step, report: s.problems.add,
	}
}

// read runs the parts of one pass: first the facts about all ops, then the ops, then their program and step.
func (s *Source) read(r *reading, with *session) error {
	row := s.rankRow()
	if err := batch.Add(r.out, r.out.Rank, &row, 0); err != nil {
		return err
	}
	p := &pass{source: s, session: with, reading: r}
	if err := firstPart(p.links, p.dump, p.debug, p.errors, p.structure, p.strangers); err != nil {
		return err
	}
	if err := s.unchanged(); err != nil {
		return err
	}
	return r.finish(s.opt.Generation)
}

func firstPart(parts ...func() error) error {
	for _, part := range parts {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

// unchanged says whether the files are still the files of the epoch.
func (s *Source) unchanged() error {
	for _, f := range s.files {
		info, err := os.Stat(filepath.Join(s.dump.Dir, f.name))
		if err != nil {
			return err
		}
		if info.Size() != f.size || !info.ModTime().Equal(f.time) {
			return fmt.Errorf("%s changed while it was read", f.name)
		}
	}
	return nil
}

func (s *Source) rankRow() schemas.RankRow {
	row := schemas.RankRow{
		RunID: schemas.RunID(s.opt.RunName), Rank: s.dump.Rank, Epoch: s.epoch, SourceName: s.dump.SourceName,
		TP: -1, PP: -1, DP: -1, CP: -1, EP: -1, TPSize: -1, PPSize: -1, DPSize: -1, CPSize: -1, EPSize: -1,
	}
	if folder, ok := rankFolder(s.dump.SourceName); ok && folder.process {
		pid := int64(folder.number)
		row.PID = &pid
	}
	return row
}
