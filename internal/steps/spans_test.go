package steps_test

import (
	"testing"

	"github.com/tensortap/tensortap/internal/steps"
)

func TestSpansJoinNumbersThatFollowEachOther(t *testing.T) {
	t.Parallel()
	for want, numbers := range map[string][]uint32{"": nil, "7": {7}, "0-3, 6": {0, 1, 2, 3, 6}, "1, 3, 5-6": {1, 3, 5, 6}} {
		if got := steps.Spans(numbers); got != want {
			t.Errorf("Spans(%v) = %q, want %q", numbers, got, want)
		}
	}
}
