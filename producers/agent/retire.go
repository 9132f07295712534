package agent

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/tensortap/tensortap/internal/plural"
)

// retire removes the folder of a process that is published whole.
func (s *served) retire(ctx context.Context) error {
	head := s.header.load()
	if err := s.cfg.Stream.Finish(ctx, s.start, head.State == stateEnded, max(s.t.Next, s.first)); err != nil {
		return err
	}
	how := "died"
	if head.State == stateEnded {
		how = "ended"
	}
	text := fmt.Sprintf("%s %s; %s of tensor %s published", s.title(), how, plural.Of(s.t.Tensors, "row"), plural.Verb(s.t.Tensors, "is", "are"))
	if head.DroppedCount > 0 {
		text += fmt.Sprintf(", %s %s dropped", plural.Of(head.DroppedCount, "record"), plural.Verb(head.DroppedCount, "was", "were"))
	}
	s.tell(text)
	s.agent.countLast(s.name, head.DroppedCount)
	return discardWhole(s.root, s.name)
}

// release removes the segments that will not be read again.
func (s *served) release() error {
	first := s.cuts.checkpoint.Position / s.t.from.rows
	names, err := namesIn(s.in)
	if err != nil {
		return err
	}
	for _, name := range names {
		number, ok := segmentNumber(name)
		if ok && number < first {
			if err := s.in.Remove(name); err != nil && !missing(err) {
				return err
			}
		}
	}
	s.header.release(uint32(first)) //nolint:gosec // the header's numbers of segments are no larger
	return nil
}

func segmentNumber(name string) (uint64, bool) {
	digits, ok := strings.CutPrefix(name, segmentPrefix)
	if !ok {
		return 0, false
	}
	number, err := strconv.ParseUint(digits, 10, 32)
	return number, err == nil
}
