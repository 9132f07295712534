package simulated

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestAClockThatJumpsMeasuresTrueTimes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fate := &Fate{Seed: 1, Calm: time.Now().Add(time.Hour)}
		clock := fate.Clock("somebody", 100*time.Hour)
		jumped := false
		for began, first := time.Now(), clock.Now(); time.Since(began) < time.Hour; time.Sleep(time.Second) {
			now := clock.Now()
			if got, want := now.Sub(first), time.Since(began); got != want {
				t.Fatalf("measured %v, want %v", got, want)
			}
			off := -time.Until(now.Round(0))
			if off.Abs() > 50*time.Hour || now.Nanosecond() != time.Now().Nanosecond() {
				t.Fatalf("the clock shows %v, it is %v", now, time.Now())
			}
			jumped = jumped || off.Abs() > time.Hour
		}
		if !jumped {
			t.Error("the clock never jumped")
		}
	})
}
