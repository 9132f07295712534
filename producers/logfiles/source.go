package logfiles

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/tensortap/tensortap/producers/internal/batch"
	"github.com/tensortap/tensortap/producers/internal/content"
	"github.com/tensortap/tensortap/producers/internal/lines"
	"github.com/tensortap/tensortap/producers/internal/logline"
)

// How a line's time is known, beside what the clock says.
const (
	byZone   = "line"
	byBefore = "line before"
	byFile   = "file"
)

// source is the lines of a rank in a file.
type source struct {
	content.Content
	part *part
}

func (p *part) source(run string, progress func(int64)) *source {
	s := &source{part: p}
	s.Content = content.Content{Run: run, Rank: p.rank, EventTimeNs: p.file.modTimeNs, Bytes: p.file.size, Progress: progress, Read: s.read}
	return s
}

func (s *source) read(ctx context.Context, out *batch.Set) error {
	if err := s.readLines(ctx, out); err != nil {
		return fmt.Errorf("read the lines of rank %d in %s: %w", s.part.rank, s.part.file.path, err)
	}
	if s.part.rank == s.part.file.places.ranks()[0] {
		for _, text := range s.part.file.problems {
			s.Problems.Add(text)
		}
	}
	return out.Rest()
}

func (s *source) readLines(ctx context.Context, out *batch.Set) error {
	f := s.part.file
	input, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer input.Close() //nolint:errcheck // only read
	from := f.newUnpacked(input)
	rows := &logline.Rows{Out: out, Stream: f.name, Time: s.timeOf}
	wants := s.part.wants()
	joiner := logline.Joiner{Parser: f.parser(), Wants: wants}
	each := func(l logline.Line) error {
		if !wants(l.Where) { // a traceback, which others' lines may have been within
			return nil
		}
		return rows.Add(l)
	}
	var read int64
	err = lines.Each(from, 0, func(l lines.Line) error {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		s.look(l)
		read = l.From + int64(len(l.Text)) + 1
		s.Tell(read)
		return joiner.Add(l.View()[:min(len(l.Text), mostLine)], l.From, each)
	})
	if err == nil && (read < f.size || f.isPacked()) {
		err = s.atEnd(input)
	}
	if err != nil {
		return err
	}
	return joiner.Flush(each)
}

// wants says whether a line is of the part. Most lines are from where the one before is.
func (p *part) wants() func(logline.Where) bool {
	last := logline.Nowhere()
	mine := p.file.places.rankOf(last) == p.rank
	return func(w logline.Where) bool {
		if w != last {
			last, mine = w, p.file.places.rankOf(w) == p.rank
		}
		return mine
	}
}

const mostLine = 1 << 20 // bytes of a line that are looked at

// atEnd is an error if the file is shorter than it was.
func (s *source) atEnd(input *os.File) error {
	info, err := input.Stat()
	if err == nil && info.Size() < s.part.file.size {
		err = errors.New("it is shorter than before: it was truncated meanwhile")
	}
	return err
}

// look notes a line that is not stored whole. One of the file's ranks does.
func (s *source) look(l lines.Line) {
	if err := l.Err(); err != nil && s.part.rank == s.part.file.places.ranks()[0] {
		s.Problems.Add(fmt.Sprintf("%s: the line at byte %d is cut, %s: %v", s.part.file.path, l.From, lines.Quote(l.Text), err))
	}
}

func (s *source) timeOf(l logline.Line) (int64, string) {
	switch {
	case l.Clock == logline.NoClock:
		return s.EventTimeNs, byFile
	case l.Carried:
		return l.TimeNs, byBefore
	case l.Clock == logline.ZonedClock:
		return l.TimeNs, byZone
	}
	return l.TimeNs, s.part.file.clock.basis
}
