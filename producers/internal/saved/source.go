package saved

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/tensortap/tensortap/internal/torchfile"
	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/producers/internal/batch"
	"github.com/tensortap/tensortap/schemas"
)

// rowsPerBatch cuts batches by rows, so that they depend on the content alone.
const rowsPerBatch = 8192

// File is one saved value.
type File struct {
	Name    string // below the folder of its dump, unique there
	Size    int64
	ModTime time.Time
}

// Dump is the files of one rank and step, in their order, and how they are read.
type Dump struct {
	Rank, Step uint32
	Dir        string
	ModTimeNs  int64 // of the latest file, in UTC nanoseconds
	Files      []File
	// RankRow is the row of the rank under an identity.
	RankRow func(schemas.Identity) schemas.RankRow
	// Rows hands the values of the files over, by Source.File.
	Rows func(ctx context.Context, s *Source, step *Step) error
}

// Listed is the dump among those of a tool.
func (d *Dump) Listed() producers.Dump {
	listed := producers.Dump{Rank: d.Rank, Step: d.Step, Dir: d.Dir, ModTimeNs: d.ModTimeNs, Bytes: d.bytes()}
	listed.Open = func(run string, progress func(int64)) (producers.Source, error) {
		s, err := d.Open(run, progress)
		if err != nil {
			return producers.Source{}, err
		}
		return producers.Source{Digest: s.Digest(), Bytes: d.bytes(), Content: s, Problems: s.Problems}, nil
	}
	return listed
}

func (d *Dump) bytes() (bytes int64) {
	for _, f := range d.Files {
		bytes += f.Size
	}
	return bytes
}

// Reader hands over the rows of several dumps as they are.
func Reader(dumps []Dump, run string, to *producers.Rows) producers.Reader {
	return func(ctx context.Context, dump int, progress func(int64)) (producers.Problems, error) {
		s, err := dumps[dump].source(run, progress)
		if err != nil {
			return producers.Problems{}, err
		}
		err = s.read(ctx, batch.NewDirect(s.identity(), to))
		return s.problems, err
	}
}

// Source reads one dump. It is not safe for use by several goroutines.
type Source struct {
	dump        *Dump
	run         string
	digest      uint64 // of the content
	epoch       uint64 // of the rows
	generation  uint32
	eventTimeNs int64
	done        int64
	progress    func(bytesRead int64)
	problems    producers.Problems
}

// Open hashes the dump's files. They must not change until the batches are read. Progress is called now and then with
// the bytes read so far; it may be nil.
func (d *Dump) Open(run string, progress func(bytesRead int64)) (*Source, error) {
	s, err := d.source(run, progress)
	if err != nil {
		return nil, err
	}
	hasher := xxh3.New()
	for _, f := range d.Files {
		if err := s.hash(hasher, f); err != nil {
			return nil, fmt.Errorf("open dump %s: read %s: %w", d.Dir, f.Name, err)
		}
	}
	s.digest = hasher.Sum64()
	s.epoch = schemas.FileEpoch(s.digest, d.Step, 0)
	return s, nil
}

func (d *Dump) source(run string, progress func(int64)) (*Source, error) {
	if n := len([]rune(run)); n < 1 || n > 200 {
		return nil, fmt.Errorf("open dump %s: run name of %d characters, want 1 to 200", d.Dir, n)
	}
	return &Source{dump: d, run: run, eventTimeNs: d.ModTimeNs, progress: progress}, nil
}

// hash adds a file to the hash of the dump's content: its name and length, then its bytes.
func (s *Source) hash(hasher *xxh3.Hasher, f File) error {
	input, err := open(s.dump.Dir, f)
	if err != nil {
		return err
	}
	defer input.Close()                                                                              //nolint:errcheck // only read
	_, _ = hasher.Write(binary.LittleEndian.AppendUint64(append([]byte(f.Name), 0), uint64(f.Size))) //nolint:gosec // never negative
	n, err := io.Copy(hasher, io.LimitReader(input, f.Size))
	if err == nil && n != f.Size {
		err = fmt.Errorf("%d bytes, had %d: it is being written", n, f.Size)
	}
	return err
}

// open opens a file of a folder. Without O_NONBLOCK, a named pipe would be waited for.
func open(dir string, f File) (*os.File, error) {
	return os.OpenFile(filepath.Join(dir, f.Name), os.O_RDONLY|syscall.O_NONBLOCK, 0) //nolint:gosec // in the folder that the user named
}

// Read is the value of a file. Of its tensors only the descriptions can be used.
func Read(dir string, f File) (value any, err error) {
	err = with(dir, f, func(read any) error {
		value = read
		return nil
	})
	return value, err
}

func with(dir string, f File, use func(value any) error) error {
	input, err := open(dir, f)
	if err != nil {
		return err
	}
	defer input.Close() //nolint:errcheck // only read
	value, err := torchfile.Read(input, f.Size)
	if err != nil {
		return err
	}
	return use(value)
}

// Digest is the hash of the dump's content: the same wherever and whenever it is read.
func (s *Source) Digest() uint64 { return s.digest }

// Reissue makes the next Batches carry another epoch, generation and time than Open gave them: those of the first
// publication of the content, or of a replacement.
func (s *Source) Reissue(epoch uint64, generation uint32, eventTimeNs int64) {
	s.epoch, s.generation, s.eventTimeNs = epoch, generation, eventTimeNs
}

// Problems returns the unreadable parts of the last call of Batches.
func (s *Source) Problems() producers.Problems { return s.problems }

// Batches returns the dump's rows as messages: definitions before the rows that refer to them, and the step last.
// An error ends them. A second call begins anew, with the same messages.
func (s *Source) Batches(ctx context.Context) iter.Seq2[schemas.Message, error] {
	return batch.Messages(ctx, s.identity, rowsPerBatch, s.read)
}

func (s *Source) identity() schemas.Identity {
	return schemas.Identity{RunID: schemas.RunID(s.run), Rank: s.dump.Rank, Epoch: s.epoch}
}

func (s *Source) read(ctx context.Context, out *batch.Set) error {
	s.problems, s.done = producers.Problems{}, 0
	rank := s.dump.RankRow(out.ID)
	step, err := Begin(out, &rank, schemas.StepRow{Step: s.dump.Step, Generation: s.generation, EventTimeNs: s.eventTimeNs})
	if err == nil {
		err = s.dump.Rows(ctx, s, step)
	}
	if err != nil {
		return fmt.Errorf("read dump %s: %w", s.dump.Dir, err)
	}
	return nil
}

// Problem notes what is wrong with a file that is read all the same.
func (s *Source) Problem(text string) { s.problems.Add(text) }

// File reads the value of a file, and hands it to use, whose second function keeps what it measured of it. A file that
// cannot be read whole is lost, and counted.
func (s *Source) File(ctx context.Context, f File, step *Step, use func(value any) (keep func() error, err error)) error {
	if err := s.unchanged(f); err != nil {
		return err
	}
	var keep func() error
	err := with(s.dump.Dir, f, func(value any) (err error) {
		keep, err = use(value)
		return err
	})
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if err != nil {
		s.problems.Add(fmt.Sprintf("%s: %v", f.Name, err))
		step.Lose("unreadable file")
	}
	if s.done += f.Size; s.progress != nil {
		s.progress(min(s.done, s.dump.bytes()))
	}
	if err != nil {
		return nil //nolint:nilerr // it is counted, and the others count
	}
	return keep()
}

// unchanged says whether a file is still the file of the epoch.
func (s *Source) unchanged(f File) error {
	info, err := os.Stat(filepath.Join(s.dump.Dir, f.Name))
	if err != nil {
		return err
	}
	if info.Size() != f.Size || !info.ModTime().Equal(f.ModTime) {
		return errors.New(f.Name + " changed while it was read")
	}
	return nil
}
