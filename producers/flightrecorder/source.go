package flightrecorder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"

	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/producers/internal/batch"
	"github.com/tensortap/tensortap/schemas"
)

const rowsPerBatch = 8192

// source is the calls of a file. It is not safe for use by several goroutines.
type source struct {
	trace    *trace
	run      string
	epoch    uint64
	progress func(bytesRead int64)
	problems producers.Problems
}

func (t *trace) open(run string, progress func(int64)) (producers.Source, error) {
	if info, err := os.Stat(t.path); err != nil || info.Size() < t.bytes {
		return producers.Source{}, fmt.Errorf("open %s: %w", t.path, cmp.Or(err, errors.New("it is shorter than before: it is being written")))
	}
	s := &source{trace: t, run: run, epoch: schemas.FileEpoch(t.digest, 0, 0), progress: progress}
	return producers.Source{
		Digest: t.digest, Bytes: t.bytes, Content: s, Problems: func() producers.Problems { return s.problems },
	}, nil
}

// Reissue makes the next Batches carry another epoch than open gave them. Calls have times of their own.
func (s *source) Reissue(epoch uint64, _ uint32, _ int64) { s.epoch = epoch }

// Batches returns the rows as messages. A second call begins anew, with the same messages.
func (s *source) Batches(ctx context.Context) iter.Seq2[schemas.Message, error] {
	return batch.Messages(ctx, s.identity, rowsPerBatch, s.read)
}

func (s *source) identity() schemas.Identity {
	return schemas.Identity{RunID: schemas.RunID(s.run), Rank: s.trace.rank, Epoch: s.epoch}
}

func (s *source) read(_ context.Context, out *batch.Set) error {
	s.problems = producers.Problems{}
	names := s.trace.content.groupNames()
	for i := range s.trace.content.entries {
		if err := s.add(out, uint64(i), names); err != nil { //nolint:gosec // never negative
			return fmt.Errorf("read the calls of %s: %w", s.trace.path, err)
		}
	}
	s.tell()
	return out.Rest()
}

// tell says what could not be read.
func (s *source) tell() {
	for _, text := range s.trace.problems {
		s.problems.Add(s.trace.path + ": " + text)
	}
	c := &s.trace.content
	if c.damage != nil {
		s.problems.Add(fmt.Sprintf("%s: %v: %d calls before and around it are read, at least %d lost", s.trace.path, c.damage, len(c.entries), c.lost))
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
