package requests

import (
	"context"
	"fmt"
	"iter"

	"github.com/zeebo/xxh3"

	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/producers/internal/batch"
	"github.com/tensortap/tensortap/schemas"
)

const rowsPerBatch = 8192

// source is the rows of one file. It is not safe for use by several goroutines.
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

// open hashes the content: with prompts it becomes other rows than without.
func (f *file) open(run string, progress func(int64)) (producers.Source, error) {
	text, _, err := readFile(f.path)
	if err != nil {
		return producers.Source{}, err
	}
	hasher := xxh3.New()
	_, _ = hasher.Write(text)
	_, _ = fmt.Fprint(hasher, f.options.KeepPrompts, f.options.Zone)
	s := f.source(run, progress)
	s.epoch = schemas.FileEpoch(hasher.Sum64(), 0, 0)
	return producers.Source{
		Digest: hasher.Sum64(), Bytes: int64(len(text)), Content: s, Problems: func() producers.Problems { return s.problems },
	}, nil
}

// Reissue makes the next Batches carry another epoch and time than open gave them. These files take nobody's place.
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
	text, _, err := readFile(s.file.path)
	if err != nil {
		return err
	}
	moments, lost := s.file.tell(s, text)
	if lost != nil {
		s.problems.Add(fmt.Sprintf("%s: %v", s.file.path, lost))
	}
	if err := s.addSnapshot(out); err != nil {
		return err
	}
	for i := range moments {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := s.add(out, &moments[i], uint64(i)); err != nil { //nolint:gosec // a position
			return err
		}
	}
	if s.progress != nil {
		s.progress(int64(len(text)))
	}
	return out.Rest()
}

func (s *source) add(out *batch.Set, m *moment, seq uint64) error {
	row := m.row()
	if !s.file.options.KeepPrompts {
		row.Prompt = ""
	}
	if row.EventTimeNs == 0 {
		row.EventTimeNs = s.eventTimeNs
	}
	id := s.identity()
	row.RunID, row.Rank, row.Epoch, row.Seq, row.Batch = id.RunID, id.Rank, id.Epoch, seq, out.RequestEvent.Number()
	text := len(row.Prompt)
	for name, value := range row.Fields {
		text += len(name) + len(value)
	}
	return batch.AddMeasured(out, out.RequestEvent, row, text)
}
