package agent_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/producers/agent"
	"github.com/tensortap/tensortap/schemas"
)

const placedSteps = 12 // of 20 tensors, in nine segments

// exchange writes what each of two files holds into the other.
func exchange(tb testing.TB, one, other string) {
	tb.Helper()
	a, b := readFile(tb, one), readFile(tb, other)
	overwrite(tb, one, b)
	overwrite(tb, other, a)
}

func readFile(tb testing.TB, path string) []byte {
	tb.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

func overwrite(tb testing.TB, path string, data []byte) {
	tb.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		tb.Fatal(err)
	}
}

// misplacement is a way in which a segment comes to lie where another belongs, and how many records are wrong by it.
type misplacement struct {
	name  string
	put   func(tb testing.TB, s, other *testbed.Spool)
	wrong int
}

func misplacements() []misplacement {
	return []misplacement{
		{"nothing", func(testing.TB, *testbed.Spool, *testbed.Spool) {}, 0},
		{"two swapped", func(tb testing.TB, s, _ *testbed.Spool) {
			tb.Helper()
			exchange(tb, segmentPath(s, 2), segmentPath(s, 5))
		}, 128},
		{"neighbours swapped", func(tb testing.TB, s, _ *testbed.Spool) {
			tb.Helper()
			exchange(tb, segmentPath(s, 0), segmentPath(s, 1))
		}, 128},
		{"a copy of an earlier one", func(tb testing.TB, s, _ *testbed.Spool) {
			tb.Helper()
			overwrite(tb, segmentPath(s, 6), readFile(tb, segmentPath(s, 3)))
		}, 64},
		{"a part of an earlier one", func(tb testing.TB, s, _ *testbed.Spool) {
			tb.Helper()
			const half = 32 * schemas.SpoolRecordBytes
			data := readFile(tb, segmentPath(s, 6))
			copy(data[half:], readFile(tb, segmentPath(s, 3))[half:])
			overwrite(tb, segmentPath(s, 6), data)
		}, 32},
		{"that of another process", func(tb testing.TB, s, other *testbed.Spool) {
			tb.Helper()
			overwrite(tb, segmentPath(s, 4), readFile(tb, segmentPath(other, 4)))
		}, 64},
	}
}

func TestAMisplacedSegmentIsCountedAsLostAndTheRestIsPublished(t *testing.T) {
	t.Parallel()
	whole := map[string]string{}
	for _, c := range misplacements() {
		root, l := t.TempDir(), newLog(t)
		other := testbed.NewSpool(t, t.TempDir(), testbed.SpoolOptions{Run: "bad", Epoch: 2, SegmentRows: 64})
		for step := range uint32(placedSteps) {
			other.Step(step+100, 10)
		}
		s := spoolOf(t, root, placedSteps)
		c.put(t, s, other)
		s.Close()
		a := agent.New(config(t, root, l))
		runUntil(t, a, empty(t, root))
		contiguous(t, l)
		got := placed(l)
		if c.wrong == 0 {
			whole = got
		}
		for where, value := range got {
			if whole[where] != value {
				t.Errorf("%s: %s is %q, want %q", c.name, where, value, whole[where])
			}
		}
		if n := a.Counts().Damaged.Load(); int(n) != c.wrong {
			t.Errorf("%s: %d records counted as damaged, want %d", c.name, n, c.wrong)
		}
		if whole, least := wholeSteps(l), placedSteps-3*((c.wrong+63)/64); whole < least {
			t.Errorf("%s: %d steps are whole, want %d at least", c.name, whole, least)
		}
		if told := damagedSteps(l); (told > 0) != (c.wrong > 0) {
			t.Errorf("%s: %d steps tell of it", c.name, told)
		}
	}
}

// placed are the values of all tensors by step, seq and site.
func placed(l *log) map[string]string {
	l.tb.Helper()
	found := map[string]string{}
	for _, row := range rows[schemas.TensorRow](l) {
		found[fmt.Sprint(row.Step, row.Seq, row.SiteID)] = fmt.Sprint(row.ValueMean, row.ValueMin, row.ValueMax)
	}
	return found
}

func damagedSteps(l *log) (count int) {
	l.tb.Helper()
	for _, step := range rows[schemas.StepRow](l) {
		if strings.Contains(step.DropReason, "checksum") {
			count++
		}
	}
	return count
}
