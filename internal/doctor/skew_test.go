package doctor

import (
	"testing"
	"time"
)

func TestAServerThatAnswersLateHasNoOtherClock(t *testing.T) {
	t.Parallel()
	asked := time.Unix(1000, 0)
	answered := asked.Add(time.Minute)
	for told, want := range map[time.Duration]time.Duration{0: 0, 30 * time.Second: 0, time.Minute: 0, -3 * time.Second: 3 * time.Second, 64 * time.Second: -4 * time.Second} {
		if got := skew(asked, answered, asked.Add(told)); got != want {
			t.Errorf("asked at 0 s, told %v, answered at 60 s: the clock is %v before the server's, want %v", told, got, want)
		}
	}
}
