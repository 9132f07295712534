package agent

import (
	"context"
	"errors"
	"fmt"

	"github.com/tensortap/tensortap/schemas"
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
	return nil
}

// startState is the last checkpoint or, before the first one, the state at the process's beginning.
func (s *served) startState() *state {
	if c := s.cuts.checkpoint; c != nil {
		again := *c
		if again.Step != nil && again.Step.Calls == nil {
			again.Step.Calls = map[uint32]call{}
		}
		return &again
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
	s.t.forgetEnded(&last)
	s.definitions.rewind(s.t.Definitions)
	s.t.Position, s.t.Window, s.t.Numbers = last.To, last.Number, last.After
	s.t.out = newBatches(s.t.out.id, s.cfg.BatchRows)
	s.t.out.setNumbers(s.t.Numbers)
	head := s.header.load()
	return s.skipTo(ctx, max(s.t.Position, uint64(head.FirstSegment)*s.t.from.rows))
}

// forgetEnded drops the step under way if a later window has the row of its end: it must not be cut short, too. The
// next records belong to a step without a known beginning.
func (t *translator) forgetEnded(last *window) {
	step := t.out.step.Kind()
	if t.Step != nil && last.After[step] > t.Numbers[step] {
		t.Step, t.Next = nil, t.Step.Number+1
	}
}

// gap goes on at the oldest record that the process has not given up.
func (s *served) gap(ctx context.Context, head *schemas.SpoolHead) error {
	to := uint64(head.FirstSegment) * s.t.from.rows
	if to <= s.t.Position {
		return fmt.Errorf("segment %s is missing", segmentName(s.frontier/s.t.from.rows))
	}
	return s.skipTo(ctx, to)
}

// skipTo publishes that the records up to the position are gone.
func (s *served) skipTo(ctx context.Context, position uint64) error {
	// The step under way must be known when this is repeated, and its records may be gone by then.
	if err := s.checkpoint(); err != nil {
		return err
	}
	return s.publish(ctx, &window{Number: s.t.Window + 1, From: s.t.Position, To: position, Definitions: -1, Gap: true})
}
