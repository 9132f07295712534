package sglangshapes

import (
	"math"

	"github.com/zeebo/xxh3"
)

// A log whose process was killed has no summary to say that repeated lines are left out of it. Its lines do, if they are some.
const (
	fewestDistinct = 16
	mostDistinct   = 1 << 20
)

// distinct is whether any line repeats another, and how many calls have none.
type distinct struct {
	known    map[uint64]bool // hashes of what lines say; nil when one was there twice, or they are too many
	repeated bool
	left     int
}

func (d *distinct) add(r *record, skips bool) { //nolint:revive // flag-parameter: a fact about the line
	if skips {
		d.left++
	}
	if d.known == nil {
		return
	}
	hash := xxh3.Hash(r.facts)
	d.repeated = d.known[hash]
	d.known[hash] = true
	if d.repeated || len(d.known) > mostDistinct {
		d.known = nil
	}
}

// leavesOut says whether repeated lines must have been left out.
func (d *distinct) leavesOut() bool {
	return !d.repeated && d.left > 0 && len(d.known) >= fewestDistinct
}

// join makes one step of all.
func (b *builder) join() {
	first := b.log.steps[0]
	first.ranges = []span{{from: 0, to: math.MaxInt64}}
	b.log.steps, b.current = []*step{first}, first
}
