package agent

import (
	"context"
	"errors"
	"time"

	"github.com/tensortap/tensortap/schemas"
)

// turn looks for records once, publishes a window if it is time for one, and says whether it did.
func (s *served) turn(ctx context.Context) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	head := s.header.load()
	now := s.cfg.Now()
	over := head.State == stateEnded || s.dead(head, now)
	if over {
		head = s.header.load() // its last records were written before it ended
	}
	err := s.scan(&head, now, over)
	if errors.Is(err, errGone) {
		return true, s.gap(ctx)
	}
	if err != nil {
		return false, err
	}
	w := s.due(&head, now, over)
	if w == nil {
		return false, nil
	}
	return true, s.publish(ctx, w)
}

// dead says whether the process is gone without a record of its end. It is looked up once a second.
func (s *served) dead(head schemas.SpoolHead, now time.Time) bool {
	if !s.gone && now.Sub(s.aliveAt) >= s.cfg.ScanEvery {
		s.aliveAt = now
		s.gone = s.life.isOver(&head, s.header.isHeld(), now, s.cfg)
		s.behind.Store(int64(s.life.behind))
	}
	return s.gone
}

// end is the position after the last record that can have been written.
func (s *served) end(head *schemas.SpoolHead) uint64 { return uint64(head.NextSegment) * s.t.from.rows }

// scan moves the frontier over written records and, if the process is over, over those that never will be written.
func (s *served) scan(head *schemas.SpoolHead, now time.Time, over bool) error { //nolint:revive // flag-parameter: a fact about the process
	until := min(s.end(head), s.t.Position+uint64(s.cfg.WindowRecords)) //nolint:gosec // a positive setting
	for s.frontier < until {
		kind, err := s.t.from.kind(s.frontier)
		if err != nil {
			return err
		}
		if kind == 0 && !over && !s.givenUp(now, until) {
			return nil
		}
		if s.frontier == s.t.Position {
			s.since = now
			s.waitingSince.CompareAndSwap(0, now.UnixNano())
		}
		if kind == 0 && !over {
			s.skipped = append(s.skipped, s.frontier)
		}
		if err := s.pass(kind); err != nil {
			return err
		}
	}
	return nil
}

// pass moves the frontier over a record and its extensions.
func (s *served) pass(kind uint32) error {
	taken := uint64(1)
	record, err := s.t.from.record(s.frontier)
	switch {
	case err != nil:
		return err
	case kind == schemas.SpoolTensorKind:
		taken = s.t.taken(s.frontier, record)
	case kind == schemas.SpoolStepKind:
		s.stepEnded = s.stepEnded || endsStep(record)
	}
	s.frontier += taken
	return nil
}

func endsStep(record []byte) bool {
	var r schemas.SpoolStep
	r.Load(record)
	return r.Event == schemas.SpoolStepEnds
}

// givenUp says whether the record at the frontier is lost: it was not written for so long, while later ones were.
func (s *served) givenUp(now time.Time, until uint64) bool {
	if s.stalled.position != s.frontier || s.stalled.since.IsZero() {
		s.stalled = stall{position: s.frontier, since: now}
	}
	if now.Sub(s.stalled.since) < s.cfg.StallAfter {
		return false
	}
	const ahead = 64
	for position := s.frontier + 1; position < min(until, s.frontier+ahead); position++ {
		if kind, err := s.t.from.kind(position); err == nil && kind != 0 {
			return true
		}
	}
	return false
}

// window is all records up to the frontier.
func (s *served) window() *window {
	return &window{Number: s.t.Window + 1, From: s.t.Position, To: s.frontier, Definitions: -1, Skipped: s.skipped}
}

// due is the window to publish now, nil when it is better to wait for more records.
func (s *served) due(head *schemas.SpoolHead, now time.Time, over bool) *window {
	const few = 256
	records := s.frontier - s.t.Position
	age := now.Sub(s.since)
	w := s.window()
	beats := !over && (s.behind.Load() != s.t.Behind || (now.Sub(s.signAt) >= s.cfg.HeartbeatEvery || debuggedSince(head) != s.signDebugged) && head.HeartbeatNs != s.signNs)
	if beats {
		w.Sign = s.signOf(head, heartRunning)
	}
	if rivals := s.countRivals(); rivals > s.t.Rivals {
		w.Rivals = rivals
	}
	switch {
	case over && s.frontier >= s.end(head):
		w.Closes, w.Dropped, w.Sign = true, head.DroppedCount, s.signOf(head, heartDied)
		if head.State == stateEnded {
			w.Sign.State = heartEnded
		}
	case !s.t.Described, beats, w.Rivals > 0, over && records > 0:
	case records >= uint64(s.cfg.BatchRows)/4: //nolint:gosec // a positive setting
	case records > 0 && age >= s.cfg.BatchAge && (records >= few || s.stepEnded || age >= 10*s.cfg.BatchAge):
	default:
		return nil
	}
	return w
}
