package clickhouse

import (
	"math"
	"testing"
)

func TestDayOfTimesBefore1970IsTheDayThatTheyAreIn(t *testing.T) {
	t.Parallel()
	const length = 24 * 3600 * 1_000_000_000
	for ns, want := range map[int64]int64{0: 0, -1: -1, length - 1: 0, length: 1, -length: -1, -length - 1: -2, math.MinInt64: -106752, math.MaxInt64: 106751} {
		if got := day(ns); got != want {
			t.Errorf("day(%d) = %d, want %d", ns, got, want)
		}
	}
}
