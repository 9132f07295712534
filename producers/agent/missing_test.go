package agent_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/schemas"
)

const missingWhy = "a segment of the spool was missing or cut short"

// spoolOf is a spool of steps of 44 records in segments of 64, of which some were removed. Each has 20 tensors.
func spoolOf(tb testing.TB, root string, steps int, missing ...int) *testbed.Spool {
	tb.Helper()
	s := testbed.NewSpool(tb, root, testbed.SpoolOptions{Run: "bad", Epoch: 1, SegmentRows: 64})
	for step := range uint32(steps) {
		s.Step(step, 10)
	}
	for _, number := range missing {
		removeSegment(tb, s, number)
	}
	return s
}

func segmentPath(s *testbed.Spool, number int) string {
	return filepath.Join(s.Dir, fmt.Sprintf("rows-%08d", number))
}

func removeSegment(tb testing.TB, s *testbed.Spool, number int) {
	tb.Helper()
	if err := os.Remove(segmentPath(s, number)); err != nil {
		tb.Fatal(err)
	}
}

// lostRows is what the rows of unseen tell of a missing segment.
func lostRows(l *log) (count uint64) {
	l.tb.Helper()
	for _, row := range rows[schemas.UnseenRow](l) {
		if row.Reason == "dropped" && row.Subject == missingWhy {
			count += row.UnseenCount
		}
	}
	return count
}

func TestAMissingSegmentIsCountedAndPassedOver(t *testing.T) {
	t.Parallel()
	const steps = 12 // in nine segments
	for number, want := range map[int]uint64{0: 64, 3: 64, 8: 1} {
		t.Run(fmt.Sprint(number), func(t *testing.T) {
			t.Parallel()
			root, l, told := t.TempDir(), newLog(t), &tellings{}
			s := spoolOf(t, root, steps, number)
			if got := int(s.Head.NextSegment); got != 9 {
				t.Fatalf("%d segments, want 9", got)
			}
			s.Close()
			cfg := config(t, root, l)
			cfg.Tell = told.add
			serveUntil(t, cfg, empty(t, root))
			contiguous(t, l)
			whole := wholeSteps(l)
			if lost := lostRows(l); lost != want || whole < steps-3 || whole == steps {
				t.Errorf("%d records are lost, want %d; %d steps are whole", lost, want, whole)
			}
			if n := told.count("is missing"); n != 1 {
				t.Errorf("told %d times of the missing segment: %q", n, told.lines)
			}
		})
	}
}

// wholeSteps is how many of the steps of spoolOf lack nothing.
func wholeSteps(l *log) (whole int) {
	l.tb.Helper()
	for _, step := range rows[schemas.StepRow](l) {
		if step.Complete == 1 && step.DroppedCount == 0 && step.TensorCount == 20 {
			whole++
		}
	}
	return whole
}

func TestASegmentThatWasCutShortIsPassedOverAsAMissingOne(t *testing.T) {
	t.Parallel()
	const steps, size = 12, 64 * schemas.SpoolRecordBytes
	for _, c := range []struct {
		name   string
		cut    map[int]int64 // bytes that are left of a segment
		lost   uint64
		losing int // steps, at most
	}{
		{"the first, to nothing", map[int]int64{0: 0}, 64, 3},
		{"one in the middle, by a byte", map[int]int64{3: size - 1}, 64, 3},
		{"two in a row", map[int]int64{4: 64, 5: size / 2}, 128, 5},
		{"the last", map[int]int64{8: 64}, 1, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			root, l, told := t.TempDir(), newLog(t), &tellings{}
			s := spoolOf(t, root, steps)
			for number, left := range c.cut {
				if err := os.Truncate(segmentPath(s, number), left); err != nil {
					t.Fatal(err)
				}
			}
			s.Close()
			cfg := config(t, root, l)
			cfg.Tell = told.add
			serveUntil(t, cfg, empty(t, root))
			contiguous(t, l)
			whole := wholeSteps(l)
			if lost := lostRows(l); lost != c.lost || whole < steps-c.losing || whole == steps {
				t.Errorf("%d records are lost, want %d; %d steps are whole", lost, c.lost, whole)
			}
			if n, failed := told.count("cut short"), told.count("cannot serve"); n != 1 || failed != 0 {
				t.Errorf("told %d times of what was cut short, %d times of a failure: %q", n, failed, told.lines)
			}
		})
	}
}

func TestALiveProcessIsServedBehindAMissingSegment(t *testing.T) {
	t.Parallel()
	root, l := t.TempDir(), newLog(t)
	s := spoolOf(t, root, 4, 0)
	cfg := config(t, root, l)
	serveUntil(t, cfg, func() bool { return len(rows[schemas.StepRow](l)) >= 2 })
	s.Step(4, 10)
	s.Close()
	serveUntil(t, cfg, empty(t, root))
	contiguous(t, l)
	if lost, n := lostRows(l), len(rows[schemas.StepRow](l)); lost != 64 || n != 4 {
		t.Errorf("%d records are lost in one segment of 64, %d steps are told of", lost, n)
	}
}

func TestAnAgentStoppedAtAMissingSegmentTellsOfItOnce(t *testing.T) {
	t.Parallel()
	root, l := t.TempDir(), newLog(t)
	spoolOf(t, root, 12, 3).Close()
	stops := 0
	l.before = func(m schemas.Message) error {
		if m.Header.Kind == "unseen" && stops < 3 {
			stops++
			return errors.New("the agent is gone")
		}
		return nil
	}
	serveUntil(t, config(t, root, l), empty(t, root))
	contiguous(t, l)
	if lost := lostRows(l); lost != 64 || stops != 3 {
		t.Errorf("%d records are lost after %d stops, want 64 after 3", lost, stops)
	}
}

func TestASegmentThatGoesMissingBetweenTwoAgentsIsPassedOver(t *testing.T) {
	t.Parallel()
	root, l := t.TempDir(), newLog(t)
	s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "bad", Epoch: 1, SegmentRows: 64})
	s.Step(0, 10)
	cfg := config(t, root, l)
	serveUntil(t, cfg, func() bool { return len(rows[schemas.StepRow](l)) == 1 })
	for step := range uint32(11) {
		s.Step(step+1, 10)
	}
	removeSegment(t, s, 0)
	s.Close()
	serveUntil(t, cfg, empty(t, root))
	contiguous(t, l)
	ended := map[uint32]bool{}
	for _, row := range rows[schemas.StepRow](l) {
		if ended[row.Step] {
			t.Errorf("step %d is told of twice", row.Step)
		}
		ended[row.Step] = true
	}
	if !ended[0] || !ended[11] || lostRows(l) == 0 {
		t.Errorf("steps %v, %d records lost", ended, lostRows(l))
	}
}
