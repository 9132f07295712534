package load

import (
	"slices"
	"testing"
)

// greatest is the greatest rate that holds, to a twentieth: it doubles from the first on until one does not, and then bisects
// what is between. It is 0 where not even a hundredth of the first does.
func greatest(first float64, holds func(rate float64) bool) float64 {
	low, high := 0.0, first
	for holds(high) {
		low, high = high, 2*high
	}
	for high-low > max(low/20, first/100) {
		if middle := (low + high) / 2; holds(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

func TestTheGreatestRateIsFound(t *testing.T) {
	t.Parallel()
	for limit, tried := range map[float64][]float64{
		230: {100, 200, 400, 300, 250, 225, 237.5, 231.25},
		60:  {100, 50, 75, 62.5, 56.25, 59.375, 60.9375},
		0.5: {100, 50, 25, 12.5, 6.25, 3.125, 1.5625, 0.78125},
	} {
		var asked []float64
		got := greatest(100, func(rate float64) bool {
			asked = append(asked, rate)
			return rate <= limit
		})
		if got > limit || got < limit*0.95 && limit > 1 || !slices.Equal(asked, tried) {
			t.Errorf("greatest rate %v after %v, want at most %v after %v", got, asked, limit, tried)
		}
	}
}
