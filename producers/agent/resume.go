package agent

import (
	"context"
	"errors"
	"fmt"
)

// resume restores the state of the last agent, and publishes once more whatever the stream may lack.
func (s *served) resume(ctx context.Context) error {
	s.t.state = s.startState()
	s.t.out.muted = true
	if err := s.defineUntil(s.t.Definitions); err != nil {
		return err
	}
	acknowledged := max(s.cuts.acknowledged(), s.t.Window)
	for i := range s.cuts.windows {
		w := &s.cuts.windows[i]
		err := s.repeat(ctx, w, w.Number > acknowledged)
		if errors.Is(err, errGone) {
			return s.resumeBehind(ctx)
		}
		if err != nil {
			return fmt.Errorf("resume: %w", err)
		}
	}
	s.t.out.muted = false
	s.t.out.setNumbers(s.t.Numbers)
	s.begun()
	if s.cuts.size > mostCuts { // it may be this that the last agent found no room for
		return s.checkpointIfRoom()
	}
	return nil
}

// startState is the last checkpoint or, before the first one, the state at the process's beginning.
func (s *served) startState() *state {
	if c := s.cuts.checkpoint; c != nil {
		return c.again()
	}
	head := s.header.load()
	first := uint64(head.FirstSegment)
	return &state{Position: first * s.t.from.rows, Adrift: first > 0, Definitions: s.definitions.at, TimeNs: head.StartedNs}
}

// repeat goes through a window again, and publishes it again unless it is known to be in the stream.
func (s *served) repeat(ctx context.Context, w *window, publish bool) error { //nolint:revive // flag-parameter: one window is treated otherwise
	if publish {
		s.t.out.muted = false
		s.t.out.setNumbers(s.t.Numbers)
	}
	messages, err := s.make(w)
	if err != nil {
		return err
	}
	s.t.Window, s.t.Numbers = w.Number, w.After
	s.t.out.muted = true
	if !publish {
		return nil
	}
	if err := s.send(ctx, messages); err != nil {
		return err
	}
	return s.cuts.acknowledge(w.Number)
}

// resumeBehind continues behind windows whose records the process has given up. Nobody knows how much of the last
// window was published: unpublished batches remain a gap, and its definitions are handed over again.
func (s *served) resumeBehind(ctx context.Context) error {
	last := s.cuts.windows[len(s.cuts.windows)-1]
	s.t.state = s.startState()
	from := s.t.Position
	s.t.forgetEnded(&last)
	s.definitions.rewind(s.t.Definitions)
	s.t.Position, s.t.Window, s.t.Numbers = last.To, last.Number, last.After
	s.t.out = newBatches(s.t.out.id, s.cfg.BatchRows)
	s.t.out.setNumbers(s.t.Numbers)
	head := s.header.load()
	gone := &window{To: max(s.t.Position, uint64(head.FirstSegment)*s.t.from.rows), Missing: uint64(head.FirstSegment)*s.t.from.rows <= from}
	if gone.Missing {
		gone.Lost = s.unacknowledged()
		s.tell(fmt.Sprintf("%s: segments of the spool are missing, cut short or changed since they were read; %d of their records were not yet known to be in the stream, and count as lost", s.title(), gone.Lost))
	}
	return s.skip(ctx, gone)
}

// unacknowledged is the number of records in windows that may not be in the stream.
func (s *served) unacknowledged() (records uint64) {
	last := s.cuts.acknowledged()
	for i := range s.cuts.windows {
		if w := &s.cuts.windows[i]; w.Number > last {
			records += w.To - w.From
		}
	}
	return records
}

// forgetEnded drops the step under way if a later window has the row of its end: it must not be cut short, too. The
// next records belong to a step without a known beginning.
func (t *translator) forgetEnded(last *window) {
	step := t.out.step.Kind()
	if t.Step != nil && last.After[step] > t.Numbers[step] {
		t.Step, t.Next = nil, t.Step.Number+1
	}
}

// gap goes on behind a segment that is not there or was cut short, once what was read before it is published.
func (s *served) gap(ctx context.Context) error {
	head := s.header.load() // again: the process says what it gives up before it removes it
	if to := uint64(head.FirstSegment) * s.t.from.rows; to > s.t.Position {
		return s.skip(ctx, &window{To: to})
	}
	if s.frontier > s.t.Position {
		return s.publish(ctx, s.window())
	}
	gone, err := s.missing(uint64(head.NextSegment))
	if err != nil {
		return err
	}
	s.tell(fmt.Sprintf("%s: segment %s is missing or cut short, and its process has not given it up; at least %d records are lost, it goes on at record %d",
		s.title(), segmentName(s.t.Position/s.t.from.rows), gone.Lost, gone.To))
	return s.skip(ctx, gone)
}

// missing is the window up to the next segment that is there and whole. Segments before others were full. How much the very
// last one held nobody knows: it counts as one record.
func (s *served) missing(next uint64) (*window, error) {
	names, err := namesIn(s.in)
	if err != nil {
		return nil, err
	}
	found := next
	for _, name := range names {
		if number, ok := segmentNumber(name); ok && number > s.t.Position/s.t.from.rows && !s.t.from.isShort(name) {
			found = min(found, number)
		}
	}
	w := &window{To: found * s.t.from.rows, Missing: true}
	w.Lost = w.To - s.t.Position
	if found == next {
		w.Lost -= min(w.Lost, s.t.from.rows) - 1
	}
	return w, nil
}

// skip publishes that the records up to the window's end are gone.
func (s *served) skip(ctx context.Context, w *window) error {
	// The step under way must be known when this is repeated, and its records may be gone by then.
	if err := s.checkpoint(); err != nil {
		return err
	}
	w.Number, w.From, w.Definitions, w.Gap = s.t.Window+1, s.t.Position, -1, true
	return s.publish(ctx, w)
}
