package simulated

import (
	"sync"
	"time"
	"unsafe"
)

// Clock is that of one party. The time of day that it shows jumps, and what it measures between two looks is true, as with
// the clocks of a system.
type Clock struct {
	dice  *Dice
	calm  time.Time
	began time.Time
	back  time.Duration // how far it may be behind

	mutex  sync.Mutex
	offset time.Duration // of its time of day
	jumps  time.Time     // for the next time
}

// Clock makes the clock of a party, which is never further behind than that.
func (f *Fate) Clock(name string, back time.Duration) *Clock {
	return &Clock{dice: f.Of("clock of " + name), calm: f.Calm, began: time.Now(), back: back}
}

// Now is the time that the party sees.
func (c *Clock) Now() time.Time {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	now := time.Now()
	if !now.Before(c.jumps) && now.Before(c.calm) {
		c.jumps = now.Add(c.dice.Upto(2 * time.Minute))
		most := []time.Duration{2 * time.Second, 10 * time.Minute, 50 * time.Hour}[c.dice.Below(3)]
		c.offset = max(c.dice.Upto(2*most)-most, -c.back).Truncate(time.Second)
	}
	return shifted(now, c.offset, now.Sub(c.began))
}

// shifted is a time with another time of day than its monotonic clock has, which package time makes in no other way: its
// own Add moves both. The words are those of time.Time.
func shifted(now time.Time, by, measured time.Duration) time.Time {
	const monotonic, nanoseconds = 1 << 63, 30
	seconds := now.Add(by).Unix() - time.Date(1885, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	words := (*struct {
		wall    uint64
		elapsed int64
	})(unsafe.Pointer(&now))
	nanosecond := now.Nanosecond()
	words.wall = monotonic | uint64(seconds)<<nanoseconds | uint64(nanosecond) //nolint:gosec // after 1885
	words.elapsed = int64(measured) + 1
	return now
}
