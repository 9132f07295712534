package requests

import (
	"context"
	"fmt"
	"io"

	"github.com/zeebo/xxh3"

	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/producers/internal/batch"
	"github.com/tensortap/tensortap/producers/internal/content"
)

// source is the rows of one file.
type source struct {
	content.Content
	file *file
}

func (f *file) source(run string, progress func(int64)) *source {
	s := &source{file: f}
	s.Content = content.Content{Run: run, Rank: f.rank, EventTimeNs: f.modTimeNs, Bytes: f.size, Progress: progress, Read: s.read}
	return s
}

// open hashes the content: with prompts it becomes other rows than without.
func (f *file) open(run string, progress func(int64)) (producers.Source, error) {
	text, err := f.content()
	if err != nil {
		return producers.Source{}, err
	}
	hasher := xxh3.New()
	_, _ = hasher.Write(text)
	_, _ = fmt.Fprint(hasher, f.options.KeepPrompts, f.options.Zone)
	return f.source(run, progress).Opened(hasher.Sum64(), 0), nil
}

// content is what the file was when it was found.
func (f *file) content() (text []byte, err error) {
	err = content.First(f.path, f.size, func(input io.Reader) (err error) {
		text, err = io.ReadAll(input)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read requests in %s: %w", f.path, err)
	}
	return text, nil
}

func (s *source) read(ctx context.Context, out *batch.Set) error {
	text, err := s.file.content()
	if err != nil {
		return err
	}
	moments, lost := s.file.tell(s, text)
	if lost != nil {
		s.Problems.Add(fmt.Sprintf("%s: %v", s.file.path, lost))
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
	s.Tell(int64(len(text)))
	return out.Rest()
}

func (s *source) add(out *batch.Set, m *moment, seq uint64) error {
	row := m.row()
	if s.file.options.KeepPrompts {
		row.Fields = m.keptFields()
	} else {
		row.Prompt = ""
	}
	if row.EventTimeNs == 0 {
		row.EventTimeNs = s.EventTimeNs
	}
	id := s.Identity()
	row.RunID, row.Rank, row.Epoch, row.Seq = id.RunID, id.Rank, id.Epoch, seq
	text := len(row.Prompt)
	for name, value := range row.Fields {
		text += len(name) + len(value)
	}
	return batch.AddMeasured(out, out.RequestEvent, row, text)
}
