package agent

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/tensortap/tensortap/schemas"
)

// publish makes the window's messages, notes on disk where it is cut, and sends them.
func (s *served) publish(ctx context.Context, w *window) error {
	before := s.t.Tensors
	messages, err := s.make(w)
	if err != nil {
		return err
	}
	s.begun()
	w.After = s.t.out.numbers()
	s.t.Window = w.Number
	if err := s.cuts.append(&cutEntry{Window: w}); err != nil {
		return err
	}
	if w.Sign != nil {
		s.signAt, s.signNs = s.cfg.Now(), w.Sign.TimeNs
		s.signDebugged = w.Sign.Debugged
	}
	if err := s.send(ctx, messages); err != nil {
		return err
	}
	s.counts.Tensors.Add(s.t.Tensors - before)
	s.counts.Skipped.Add(uint64(len(w.Skipped)))
	return s.acknowledged(w)
}

// begun forgets the records behind the position, which has moved.
func (s *served) begun() {
	s.frontier, s.skipped, s.stepEnded = s.t.Position, nil, false
}

func (s *served) send(ctx context.Context, messages []schemas.Message) error {
	for _, m := range messages {
		if err := s.publisher.Publish(ctx, m); err != nil {
			return err
		}
	}
	if err := s.publisher.Flush(ctx); err != nil {
		return err
	}
	for _, m := range messages {
		s.counts.Rows.Add(uint64(m.Header.Rows)) //nolint:gosec // not negative
	}
	s.counts.Messages.Add(uint64(len(messages)))
	return nil
}

// acknowledged notes that the window is in the stream and, now and then, the state that it left.
func (s *served) acknowledged(w *window) error {
	s.waitingSince.Store(0)
	if err := s.cuts.acknowledge(w.Number); err != nil {
		return err
	}
	from := uint64(0)
	if s.cuts.checkpoint != nil {
		from = s.cuts.checkpoint.Position
	}
	records := s.t.Position - from
	const atStepEnds = 4096
	if records >= s.cfg.CheckpointRows || w.Gap || s.t.Step == nil && records >= atStepEnds {
		return s.checkpointIfRoom()
	}
	return nil
}

// checkpointIfRoom leaves the checkpoint for later while a full disk has no room for it. That of an open step may be
// large, and that of its end is small.
func (s *served) checkpointIfRoom() error {
	if err := s.checkpoint(); !errors.Is(err, errFull) {
		return err
	}
	return nil
}

func (s *served) checkpoint() error {
	s.t.Numbers = s.t.out.numbers()
	now := *s.t.state // which moves on, while the checkpoint stays
	if err := s.cuts.append(&cutEntry{Checkpoint: &now}); err != nil {
		return err
	}
	return s.release()
}

// make turns the records of the window into messages. It changes the state and nothing else.
func (s *served) make(w *window) ([]schemas.Message, error) {
	s.sum = 0
	if err := s.define(w); err != nil {
		return nil, err
	}
	if err := s.translate(w); err != nil {
		return nil, err
	}
	if w.Sum != 0 && w.Sum != s.sum {
		return nil, fmt.Errorf("window %d is not what it was: %w", w.Number, errGone)
	}
	w.Sum = s.sum
	if err := s.t.refusedBeside(w.Rivals); err != nil {
		return nil, err
	}
	if w.Closes {
		if err := s.t.close(w.Sign, w.Dropped); err != nil {
			return nil, err
		}
	} else if w.Sign != nil {
		if err := s.t.heartbeat(w.Sign); err != nil {
			return nil, err
		}
	}
	s.t.Position = w.To
	return s.t.out.take()
}

// define takes in the definitions up to the window's end, or all that there are when that is not yet set.
func (s *served) define(w *window) error {
	if !s.t.Described {
		run, rank := s.about.run, s.about.rank
		s.t.Described = true
		if err := errors.Join(add(s.t.out, s.t.out.run, &run, 0), add(s.t.out, s.t.out.rank, &rank, 0)); err != nil {
			return err
		}
	}
	until := w.Definitions
	if err := s.defineUntil(until); err != nil {
		return err
	}
	if until >= 0 && s.definitions.at != until {
		return fmt.Errorf("window %d lacks definitions: %w", w.Number, errGone)
	}
	w.Definitions = s.definitions.at
	s.t.Definitions = s.definitions.at
	return nil
}

func (s *served) defineUntil(limit int64) error {
	for {
		text, whole, err := s.definitions.next(limit)
		if err != nil || !whole {
			return err
		}
		s.add(text)
		d, err := parseDefinition(text)
		if err == nil {
			err = s.t.known.define(&d, s.t.out)
		}
		if err != nil {
			s.counts.Damaged.Add(1) // rows that need it are counted as lost
		}
	}
}

func (s *served) translate(w *window) error {
	if w.Gap {
		return s.t.gap(w)
	}
	skipped := map[uint64]bool{}
	for _, position := range w.Skipped {
		skipped[position] = true
	}
	for position := w.From; position < w.To; {
		kind, err := s.t.from.kind(position)
		if err != nil {
			return fmt.Errorf("record %d: %w", position, err)
		}
		if kind == 0 || skipped[position] {
			position++
			continue
		}
		taken, err := s.t.record(position, kind)
		for i := uint64(0); err == nil && i < taken; i++ {
			err = s.addRecord(position + i)
		}
		if err != nil {
			return fmt.Errorf("record %d: %w", position, err)
		}
		position += taken
	}
	return nil
}

// add adds to the sum of what the window is made of.
func (s *served) add(data []byte) {
	s.sum = crc32.Update(s.sum, crc32.MakeTable(crc32.Castagnoli), data)
}

func (s *served) addRecord(position uint64) error {
	record, err := s.t.from.record(position)
	s.add(record)
	return err
}
