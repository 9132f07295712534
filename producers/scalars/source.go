package scalars

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/producers/internal/batch"
	"github.com/tensortap/tensortap/producers/internal/content"
	"github.com/tensortap/tensortap/producers/internal/lines"
	"github.com/tensortap/tensortap/schemas"
)

const (
	ofEvents     = "tensorboard"
	ofStatistics = "transformer engine"
	ofWandb      = "wandb"
	ofDebugger   = "sagemaker debugger" // before its mode
)

// source is the numbers of a file.
type source struct {
	content.Content
	file *file
	seq  uint64
}

func (f *file) source(run string, progress func(int64)) *source {
	s := &source{file: f}
	s.Content = content.Content{Run: run, Rank: f.rank, EventTimeNs: f.modTimeNs, Bytes: f.size, Progress: progress, Read: s.read}
	return s
}

// open hashes the file, which must not change until it is read.
func (f *file) open(run string, progress func(int64)) (producers.Source, error) {
	hasher := xxh3.New()
	_, _ = hasher.WriteString(f.name + "\x00")
	if err := content.Hash(hasher, f.path, f.size); err != nil {
		return producers.Source{}, fmt.Errorf("open %s: %w", f.path, err)
	}
	return f.source(run, progress).Opened(hasher.Sum64(), 0), nil
}

func (s *source) read(ctx context.Context, out *batch.Set) error {
	s.seq = 0
	each := s.lines
	switch {
	case s.file.isEvents:
		each = s.events
	case strings.HasSuffix(s.file.name, ".jsonl"):
		each = s.history
	case strings.HasSuffix(s.file.name, ".csv"):
		each = s.table
	}
	err := content.First(s.file.path, s.file.size, func(input io.Reader) error { return each(ctx, input, out) })
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
		s.Tell(from.at)
	}
}

func (s *source) lines(ctx context.Context, input io.Reader, out *batch.Set) error {
	return lines.Each(input, 0, func(l lines.Line) error {
		s.Tell(l.From + int64(len(l.Text)) + 1)
		one, ok := statistic(l.Text)
		if !ok || !l.Whole {
			s.lose("line", l.From, fmt.Errorf("%s is no line NAME iteration=N value=X that was written whole", lines.Quote(l.Text)))
			return context.Cause(ctx)
		}
		return errors.Join(context.Cause(ctx), s.add(out, []scalar{one}, ofStatistics))
	})
}

func (s *source) history(ctx context.Context, input io.Reader, out *batch.Set) error {
	return s.wandb(ctx, input, out, func(l lines.Line) ([]scalar, error) { return history(l.Text) })
}

func (s *source) table(ctx context.Context, input io.Reader, out *batch.Set) error {
	var t table
	return s.wandb(ctx, input, out, func(l lines.Line) ([]scalar, error) { return t.rowOf(l.Text, l.Whole) })
}

func (s *source) wandb(ctx context.Context, input io.Reader, out *batch.Set, read func(lines.Line) ([]scalar, error)) error {
	return lines.Each(input, 0, func(l lines.Line) error {
		s.Tell(l.From + int64(len(l.Text)) + 1)
		err := l.Err()
		var found []scalar
		if err == nil {
			found, err = read(l)
		}
		if err != nil {
			s.lose("line", l.From, fmt.Errorf("%s: %w", lines.Quote(l.Text), err))
		}
		return errors.Join(context.Cause(ctx), s.add(out, found, ofWandb))
	})
}

func (s *source) lose(part string, at int64, cause error) {
	s.Problems.Add(fmt.Sprintf("%s: the %s at byte %d: %v", s.file.path, part, at, cause))
}

func (s *source) add(out *batch.Set, found []scalar, kind string) error {
	for i := range found {
		one := &found[i]
		row := schemas.MetricRow{
			RunID: out.ID.RunID, Rank: out.ID.Rank, Epoch: out.ID.Epoch, EventTimeNs: one.timeNs,
			Step: one.step, Seq: s.seq, Name: strings.ToValidUTF8(one.name, "?"), Value: one.value, Digits: one.digits, Source: cmp.Or(one.source, kind),
		}
		if row.EventTimeNs == 0 {
			row.EventTimeNs = s.EventTimeNs
		}
		s.seq++
		if err := batch.AddMeasured(out, out.Metric, &row, len(row.Name)); err != nil {
			return err
		}
	}
	return nil
}
