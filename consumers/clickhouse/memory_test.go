package clickhouse

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestIntervalsAreASet(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var set intervals
		want := make(map[uint64]bool)
		for range r.IntN(120) {
			batch := r.Uint64N(60)
			if r.IntN(20) == 0 {
				batch = math.MaxUint64 - r.Uint64N(3)
			}
			set, want[batch] = set.with(batch), true
		}
		for _, batch := range []uint64{math.MaxUint64, math.MaxUint64 - 1, math.MaxUint64 - 2, 1 << 40} {
			if set.contains(batch) != want[batch] {
				t.Fatalf("%v contains %d = %v, want %v", set, batch, set.contains(batch), want[batch])
			}
		}
		for batch := range uint64(61) {
			if set.contains(batch) != want[batch] {
				t.Fatalf("%v contains %d = %v, want %v", set, batch, set.contains(batch), want[batch])
			}
		}
		for i := 1; i < len(set); i++ {
			if set[i].first <= set[i-1].last+1 {
				t.Fatalf("%v has intervals that touch", set)
			}
		}
	}
}

func TestDayOfTimesBefore1970IsTheDayThatTheyAreIn(t *testing.T) {
	t.Parallel()
	const length = 24 * 3600 * 1_000_000_000
	for ns, want := range map[int64]int64{0: 0, -1: -1, length - 1: 0, length: 1, -length: -1, -length - 1: -2, math.MinInt64: -106752, math.MaxInt64: 106751} {
		if got := day(ns); got != want {
			t.Errorf("day(%d) = %d, want %d", ns, got, want)
		}
	}
}
