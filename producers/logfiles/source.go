package logfiles

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/producers/internal/batch"
	"github.com/tensortap/tensortap/producers/internal/lines"
	"github.com/tensortap/tensortap/producers/internal/logline"
	"github.com/tensortap/tensortap/schemas"
)

const rowsPerBatch = 8192

// How a line's time is known, beside what the clock says.
const (
	byZone   = "line"
	byBefore = "line before"
	byFile   = "file"
)

// source is the lines of a rank in a file. It is not safe for use by several goroutines.
type source struct {
	part        *part
	run         string
	epoch       uint64
	eventTimeNs int64
	progress    func(bytesRead int64)
	problems    producers.Problems
}

func (p *part) source(run string, progress func(int64)) *source {
	return &source{part: p, run: run, eventTimeNs: p.file.modTimeNs, progress: progress}
}

// open has the hash of the content since the file was found.
func (p *part) open(run string, progress func(int64)) (producers.Source, error) {
	s, digest := p.source(run, progress), p.digestOf()
	s.epoch = schemas.FileEpoch(digest, 0, 0)
	return producers.Source{
		Digest: digest, Bytes: p.file.size, Content: s, Problems: func() producers.Problems { return s.problems },
	}, nil
}

// Reissue makes the next Batches carry another epoch and time than open gave them. A log takes nobody's place.
func (s *source) Reissue(epoch uint64, _ uint32, eventTimeNs int64) {
	s.epoch, s.eventTimeNs = epoch, eventTimeNs
}

// Batches returns the rows as messages. A second call begins anew, with the same messages.
func (s *source) Batches(ctx context.Context) iter.Seq2[schemas.Message, error] {
	return batch.Messages(ctx, s.identity, rowsPerBatch, s.read)
}

func (s *source) identity() schemas.Identity {
	return schemas.Identity{RunID: schemas.RunID(s.run), Rank: s.part.rank, Epoch: s.epoch}
}

func (s *source) read(ctx context.Context, out *batch.Set) error {
	s.problems = producers.Problems{}
	if err := s.readLines(ctx, out); err != nil {
		return fmt.Errorf("read the lines of rank %d in %s: %w", s.part.rank, s.part.file.path, err)
	}
	if s.part.rank == s.part.file.places.ranks()[0] {
		for _, text := range s.part.file.problems {
			s.problems.Add(text)
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
	err = lines.EachText(io.LimitReader(input, f.size), 0, func(l lines.Text) error {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		s.look(l)
		read = l.From + int64(len(l.Text)) + 1
		s.tell(read)
		return joiner.Add(l.Text[:min(len(l.Text), mostLine)], l.From, each)
	})
	if err == nil && read < f.size {
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
func (s *source) look(l lines.Text) {
	if err := l.Err(); err != nil && s.part.rank == s.part.file.places.ranks()[0] {
		s.problems.Add(fmt.Sprintf("%s: the line at byte %d is cut, %s: %v", s.part.file.path, l.From, lines.Quote(l.Text), err))
	}
}

func (s *source) tell(read int64) {
	if s.progress != nil {
		s.progress(min(read, s.part.file.size))
	}
}

func (s *source) timeOf(l logline.Line) (int64, string) {
	switch {
	case l.Clock == logline.NoClock:
		return s.eventTimeNs, byFile
	case l.Carried:
		return l.TimeNs, byBefore
	case l.Clock == logline.ZonedClock:
		return l.TimeNs, byZone
	}
	return l.TimeNs, s.part.file.clock.basis
}
