package schemas

import (
	"math"
	"testing"
)

func TestDayOfTimesBefore1970IsTheDayThatTheyAreIn(t *testing.T) {
	t.Parallel()
	for ns, want := range map[int64]int64{0: 0, -1: -1, dayNs - 1: 0, dayNs: 1, -dayNs: -1, -dayNs - 1: -2, math.MinInt64: -106752, math.MaxInt64: 106751} {
		if got := Day(ns); got != want {
			t.Errorf("Day(%d) = %d, want %d", ns, got, want)
		}
	}
}

func TestABatchOfTwoDaysCannotBeMade(t *testing.T) {
	t.Parallel()
	b := NewBuilder[LogRow]()
	b.Append(&LogRow{EventTimeNs: dayNs - 1})
	b.Append(&LogRow{EventTimeNs: dayNs})
	if m, err := b.Message(Identity{}); err == nil {
		t.Errorf("a batch of %d rows of two days was made", m.Header.Rows)
	}
}
