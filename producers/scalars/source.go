package scalars

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/producers/internal/batch"
	"github.com/tensortap/tensortap/producers/internal/lines"
	"github.com/tensortap/tensortap/schemas"
)

const (
	rowsPerBatch = 8192
	ofEvents     = "tensorboard"
	ofStatistics = "transformer engine"
)

// source is the numbers of a file. It is not safe for use by several goroutines.
type source struct {
	file        *file
	run         string
	epoch       uint64
	eventTimeNs int64
	progress    func(bytesRead int64)
	problems    producers.Problems
	seq         uint64
}

func (f *file) source(run string, progress func(int64)) *source {
	return &source{file: f, run: run, eventTimeNs: f.modTimeNs, progress: progress}
}

// open hashes the file, which must not change until it is read.
func (f *file) open(run string, progress func(int64)) (producers.Source, error) {
	hasher := xxh3.New()
	_, _ = hasher.WriteString(f.name + "\x00")
	if err := f.with(func(input io.Reader) error { _, err := io.Copy(hasher, input); return err }); err != nil {
		return producers.Source{}, fmt.Errorf("open %s: %w", f.path, err)
	}
	s := f.source(run, progress)
	s.epoch = schemas.FileEpoch(hasher.Sum64(), 0, 0)
	return producers.Source{Digest: hasher.Sum64(), Bytes: f.size, Content: s, Problems: func() producers.Problems { return s.problems }}, nil
}

// with gives what the file was when it was found.
func (f *file) with(use func(io.Reader) error) error {
	input, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer input.Close() //nolint:errcheck // only read
	whole := &io.LimitedReader{R: input, N: f.size}
	if err := use(whole); err != nil {
		return err
	}
	if info, err := input.Stat(); err != nil || info.Size() < f.size {
		return errors.Join(err, errors.New("it is shorter than before: it was truncated meanwhile"))
	}
	return nil
}

// Reissue makes the next Batches carry another epoch and time than open gave them. A file takes nobody's place.
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
	s.problems, s.seq = producers.Problems{}, 0
	each := s.lines
	if s.file.isEvents {
		each = s.events
	}
	err := s.file.with(func(input io.Reader) error { return each(ctx, input, out) })
	if err != nil {
		return fmt.Errorf("read %s: %w", s.file.path, err)
	}
	return out.Rest()
}

// events reads records until the end, or until the length of one is damaged.
func (s *source) events(ctx context.Context, input io.Reader, out *batch.Set) error {
	from := newEvents(input)
	for {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		content, at, err := from.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !errors.Is(err, errDamaged) {
			s.lose("record", at, err)
			return nil
		}
		var found []scalar
		if err == nil {
			found, err = scalarsOf(content)
		}
		if err != nil {
			s.lose("record", at, err)
		}
		if err := s.add(out, found, ofEvents); err != nil {
			return err
		}
		s.tell(from.at)
	}
}

func (s *source) lines(ctx context.Context, input io.Reader, out *batch.Set) error {
	return lines.Each(input, 0, func(l lines.Line) error {
		s.tell(l.From + int64(len(l.Text)) + 1)
		one, ok := statistic(l.Text)
		if !ok || !l.Whole {
			s.lose("line", l.From, fmt.Errorf("%s is no line NAME iteration=N value=X that was written whole", lines.Quote(l.Text)))
			return context.Cause(ctx)
		}
		return errors.Join(context.Cause(ctx), s.add(out, []scalar{one}, ofStatistics))
	})
}

func (s *source) lose(part string, at int64, cause error) {
	s.problems.Add(fmt.Sprintf("%s: the %s at byte %d: %v", s.file.path, part, at, cause))
}

func (s *source) tell(read int64) {
	if s.progress != nil {
		s.progress(min(read, s.file.size))
	}
}

func (s *source) add(out *batch.Set, found []scalar, kind string) error {
	for i := range found {
		one := &found[i]
		row := schemas.MetricRow{
			RunID: out.ID.RunID, Rank: out.ID.Rank, Epoch: out.ID.Epoch, Batch: out.Metric.Number(), EventTimeNs: one.timeNs,
			Step: one.step, Seq: s.seq, Name: strings.ToValidUTF8(one.name, "?"), Value: one.value, Digits: one.digits, Source: kind,
		}
		if row.EventTimeNs == 0 {
			row.EventTimeNs = s.eventTimeNs
		}
		s.seq++
		if err := batch.AddMeasured(out, out.Metric, &row, len(row.Name)); err != nil {
			return err
		}
	}
	return nil
}

// reader hands over rows as they are.
type reader struct {
	files []*file
	run   string
	to    producers.Rows
}

func (r reader) read(ctx context.Context, number int, progress func(int64)) (producers.Problems, error) {
	s := r.files[number].source(r.run, progress)
	err := s.read(ctx, batch.NewDirect(s.identity(), &r.to))
	return s.problems, err
}
