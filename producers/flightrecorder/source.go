package flightrecorder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/producers/internal/batch"
	"github.com/tensortap/tensortap/producers/internal/content"
	"github.com/tensortap/tensortap/schemas"
)

// source is the calls of a file.
type source struct {
	content.Content
	trace *trace
}

func (t *trace) source(run string, progress func(int64)) *source {
	s := &source{trace: t}
	s.Content = content.Content{Run: run, Rank: t.rank, Bytes: t.bytes, Progress: progress, Read: s.read}
	return s
}

func (t *trace) open(run string, progress func(int64)) (producers.Source, error) {
	if info, err := os.Stat(t.path); err != nil || info.Size() < t.bytes {
		return producers.Source{}, fmt.Errorf("open %s: %w", t.path, cmp.Or(err, errors.New("it is shorter than before: it is being written")))
	}
	return t.source(run, progress).Opened(t.digest, 0), nil
}

func (s *source) read(_ context.Context, out *batch.Set) error {
	names := s.trace.content.groupNames()
	for i := range s.trace.content.entries {
		if err := s.add(out, uint64(i), names); err != nil { //nolint:gosec // never negative
			return fmt.Errorf("read the calls of %s: %w", s.trace.path, err)
		}
	}
	s.end()
	return out.Rest()
}

// end says what could not be read.
func (s *source) end() {
	for _, text := range s.trace.problems {
		s.Problems.Add(s.trace.path + ": " + text)
	}
	c := &s.trace.content
	if c.damage != nil {
		s.Problems.Add(fmt.Sprintf("%s: %v: %d calls before and around it are read, at least %d lost", s.trace.path, c.damage, len(c.entries), c.lost))
	}
	s.Tell(s.trace.bytes)
}

func (s *source) add(out *batch.Set, seq uint64, names map[string]string) error {
	e := &s.trace.content.entries[seq]
	stack, err := out.AddStack(e.frames)
	if err != nil {
		return err
	}
	row := schemas.CollectiveRow{
		RunID: out.ID.RunID, Rank: out.ID.Rank, Epoch: out.ID.Epoch, EventTimeNs: e.created,
		Seq: seq, ProcessGroup: names[e.groupKey()], GroupRanks: s.trace.content.ranksOf(e), GroupSeq: uint64(e.number), //nolint:gosec // never negative
		Name: e.name, State: e.state, Inputs: e.inputs, Outputs: e.outputs,
		StartedTimeNs: e.started, CompletedTimeNs: e.completed, TimeoutNs: e.timeoutNs, StackID: stack,
	}
	if e.pointToPoint {
		row.PointToPoint = 1
	}
	return batch.AddMeasured(out, out.Collective, &row, len(row.ProcessGroup)+len(e.inputs)+len(e.outputs)+8*len(row.GroupRanks))
}
