package flightrecorder

import (
	"context"
	"fmt"
	"iter"

	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/producers/internal/batch"
	"github.com/tensortap/tensortap/producers/internal/tally"
	"github.com/tensortap/tensortap/schemas"
)

const (
	rowsPerBatch     = 8192
	reasonUnreadable = "unreadable call"
)

// source is the calls of a file. It is not safe for use by several goroutines.
type source struct {
	trace       *trace
	run         string
	epoch       uint64
	generation  uint32
	eventTimeNs int64
	progress    func(bytesRead int64)
	problems    producers.Problems
}

func (t *trace) open(run string, progress func(int64)) (producers.Source, error) {
	s := &source{trace: t, run: run, epoch: schemas.FileEpoch(t.digest, 0, 0), eventTimeNs: t.modTimeNs, progress: progress}
	return producers.Source{
		Digest: t.digest, Bytes: t.bytes, Content: s, Problems: func() producers.Problems { return s.problems },
	}, nil
}

// Reissue makes the next Batches carry another epoch, generation and time than open gave them.
func (s *source) Reissue(epoch uint64, generation uint32, eventTimeNs int64) {
	s.epoch, s.generation, s.eventTimeNs = epoch, generation, eventTimeNs
}

// Batches returns the rows as messages. A second call begins anew, with the same messages.
func (s *source) Batches(ctx context.Context) iter.Seq2[schemas.Message, error] {
	return batch.Messages(ctx, s.identity, rowsPerBatch, s.read)
}

func (s *source) identity() schemas.Identity {
	return schemas.Identity{RunID: schemas.RunID(s.run), Rank: s.trace.rank, Epoch: s.epoch}
}

func (s *source) read(_ context.Context, out *batch.Set) error {
	s.problems = producers.Problems{}
	begun, err := tally.Begin(out, schemas.RankRow{}, schemas.StepRow{EventTimeNs: s.eventTimeNs, Generation: s.generation})
	if err != nil {
		return err
	}
	names := s.trace.content.groupNames()
	for i := range s.trace.content.entries {
		if err := s.add(out, uint64(i), names); err != nil { //nolint:gosec // never negative
			return fmt.Errorf("read the calls of %s: %w", s.trace.path, err)
		}
	}
	s.tell(begun)
	return begun.End()
}

// tell says what could not be read.
func (s *source) tell(of *tally.Tally) {
	for _, text := range s.trace.problems {
		s.problems.Add(s.trace.path + ": " + text)
	}
	c := &s.trace.content
	if c.damage != nil {
		s.problems.Add(fmt.Sprintf("%s: %v: %d calls before and around it are read, at least %d lost", s.trace.path, c.damage, len(c.entries), c.lost))
	}
	if c.lost > 0 {
		of.Drop(c.lost, reasonUnreadable)
	}
	if s.progress != nil {
		s.progress(s.trace.bytes)
	}
}

func (s *source) add(out *batch.Set, seq uint64, names map[string]string) error {
	e := &s.trace.content.entries[seq]
	stack, err := addStack(out, e.frames)
	if err != nil {
		return err
	}
	row := schemas.CollectiveRow{
		RunID: out.ID.RunID, Rank: out.ID.Rank, Epoch: out.ID.Epoch, Batch: out.Collective.Number(), EventTimeNs: e.created,
		Seq: seq, ProcessGroup: names[e.groupKey()], GroupRanks: s.trace.content.ranksOf(e), GroupSeq: uint64(e.number), //nolint:gosec // never negative
		Name: e.name, State: e.state, Inputs: e.inputs, Outputs: e.outputs,
		StartedTimeNs: e.started, CompletedTimeNs: e.completed, TimeoutNs: e.timeoutNs, StackID: stack,
	}
	if e.pointToPoint {
		row.PointToPoint = 1
	}
	return batch.AddMeasured(out, out.Collective, &row, len(row.ProcessGroup)+len(e.inputs)+len(e.outputs)+8*len(row.GroupRanks))
}

func addStack(out *batch.Set, frames []string) (uint64, error) {
	if len(frames) == 0 {
		return 0, nil
	}
	row := schemas.StackRow{StackID: schemas.StackID(frames), Frames: frames}
	size := 0
	for _, frame := range frames {
		size += len(frame)
	}
	return row.StackID, batch.Add(out, out.Stack, &row, size)
}
