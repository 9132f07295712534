// Package simulated is the world around the program's own code, in one process and over a simulated clock: a NATS server
// that speaks its protocol to the real client, and a database behind the driver's interface. What goes wrong in it, and
// when, comes from a seed.
//
// It must run in a bubble of testing/synctest. Each part draws from dice of its own, so that a seed gives the same faults
// whichever goroutine is first; what the scheduler does with two that are ready at the same time is not in the seed.
package simulated

import (
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"time"
)

// Fate is what goes wrong, by a seed, until it is calm.
type Fate struct {
	Seed uint64
	Calm time.Time // nothing goes wrong from then on
}

// Dice decide the fate of one part of the world. Several goroutines may throw them.
type Dice struct {
	fate  *Fate
	mutex sync.Mutex
	rng   *rand.Rand
}

// Of gives the dice of a part.
func (f *Fate) Of(part string) *Dice {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(part))
	return &Dice{fate: f, rng: rand.New(rand.NewPCG(f.Seed, hash.Sum64()))}
}

// Strikes says whether a fault comes now that comes once in so many times.
func (d *Dice) Strikes(once int) bool {
	return d.Below(once) == 0 && time.Now().Before(d.fate.Calm)
}

// Below is a number from 0 on.
func (d *Dice) Below(n int) int {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return d.rng.IntN(n)
}

// Upto is a time that long at most.
func (d *Dice) Upto(most time.Duration) time.Duration {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return time.Duration(d.rng.Int64N(int64(most)))
}

// Travel waits as a network does: a moment mostly, at times much longer.
func (d *Dice) Travel() {
	if d.Strikes(40) {
		time.Sleep(d.Upto(20 * time.Second))
		return
	}
	time.Sleep(d.Upto(3 * time.Millisecond))
}
