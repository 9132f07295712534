package memorysnapshot

import "slices"

const mostLooks = 512 // at the memory of a device, thinned

// look is what is in use and reserved after an event, before the base is known.
type look struct {
	index           int64
	timeUs          int64
	inUse, reserved int64
	ooms            uint32
	free            int64 // on the device; -1 where it is not known
}

// live is an allocation whose beginning is in the trace.
type live struct {
	stack           uint32
	size, requested int64
}

// held is what a stack holds of allocations that the trace has, now, and as it was at the peak where it has changed since.
type held struct {
	now, atPeak sum
	peak        int64 // number of the peak that atPeak is of
}

// course is what a trace tells of a device, event by event. All sums are relative to the beginning of the trace, which is
// older than its first event: a ring buffer has forgotten the rest. The end makes them absolute.
type course struct {
	events             int64
	now, reservedNow   int64
	base, reservedBase int64
	lowest, mostOver   int64
	highest            int64
	peak               int64 // number of peaks so far
	peakLook           look
	live               map[uint64]live
	stacks             map[uint32]*held
	unseen             held // freed here, allocated before
	twice              int64
	tooMany            bool // allocations at a time: stacks at the peak are not known
	ooms               uint32
	last               look
	looks              []look
	stride             int64
}

func newCourse() course {
	return course{live: map[uint64]live{}, stacks: map[uint32]*held{}, stride: 1, peakLook: look{free: -1}}
}

// round is the size of the block for a request: traces have what was asked for.
func round(requested int64) int64 { return (requested + granule - 1) &^ (granule - 1) }

// add takes an event. A block is in use until free_completed: after free_requested another stream may still use it.
func (c *course) add(action string, e *container) {
	size := e.size(fieldSize)
	free := int64(-1)
	switch action {
	case "alloc":
		c.alloc(e.bytes(fieldAddr), stackOf(e), size)
	case "free_completed":
		c.free(e.bytes(fieldAddr), size)
	case "segment_alloc", "segment_map":
		c.reservedNow += size
	case "segment_free", "segment_unmap":
		c.reservedNow -= size
	case "oom":
		c.ooms++
		if e.holds(fieldDeviceFree) {
			free = e.size(fieldDeviceFree)
		}
	}
	c.lowest, c.mostOver = min(c.lowest, c.now), max(c.mostOver, c.now-c.reservedNow)
	c.look(e.get(fieldTime).n, free)
}

func (c *course) alloc(address uint64, stack uint32, requested int64) {
	if _, before := c.live[address]; before {
		c.twice++
		c.free(address, requested)
	}
	size := round(requested)
	c.now += size
	if len(c.live) >= mostLive {
		c.tooMany = true
		return
	}
	c.live[address] = live{stack, size, requested}
	if c.stacks[stack] == nil {
		c.stacks[stack] = &held{}
	}
	c.stacks[stack].change(c.peak, 1, size, requested)
}

func (c *course) free(address uint64, requested int64) {
	l, seen := c.live[address]
	if !seen {
		c.now -= round(requested)
		c.unseen.change(c.peak, 1, round(requested), requested)
		return
	}
	c.now -= l.size
	delete(c.live, address)
	c.stacks[l.stack].change(c.peak, -1, -l.size, -l.requested)
}

// change first keeps what was held at the peak.
func (h *held) change(peak, count, size, requested int64) {
	if h.peak != peak {
		h.atPeak, h.peak = h.now, peak
	}
	h.now.add(count, size, requested, true)
}

// when is what was held at a peak.
func (h *held) when(peak int64) sum {
	if h.peak != peak {
		return h.now
	}
	return h.atPeak
}

// look notes the moment, and every second of all when there are too many.
func (c *course) look(timeUs, free int64) {
	c.last = look{index: c.events, timeUs: timeUs, inUse: c.now, reserved: c.reservedNow, ooms: c.ooms, free: free}
	if c.now > c.highest {
		c.highest, c.peakLook = c.now, c.last
		c.peak++
	}
	if c.events%c.stride == 0 || free >= 0 {
		c.looks = append(c.looks, c.last)
	}
	if len(c.looks) >= mostLooks {
		c.thin()
	}
	c.events++
}

func (c *course) thin() {
	c.stride *= 2
	c.looks = slices.DeleteFunc(c.looks, func(l look) bool { return l.index%c.stride != 0 })
}

// chosen are the looks in their order, with the peak and the last.
func (c *course) chosen() []look {
	looks := append([]look(nil), c.looks...)
	if c.events > 0 {
		looks = append(looks, c.last)
	}
	if c.highest > 0 {
		looks = append(looks, c.peakLook)
	}
	slices.SortFunc(looks, func(a, b look) int { return int(a.index - b.index) })
	return slices.CompactFunc(looks, func(a, b look) bool { return a.index == b.index })
}

// heldAtPeak is by stack. What was older than the trace and freed in it after the peak has no stack.
func (c *course) heldAtPeak() map[uint32]*sum {
	sums := map[uint32]*sum{}
	for stack, h := range c.stacks {
		if at := h.when(c.peak); at.count > 0 {
			sums[stack] = &at
		}
	}
	freed := c.unseen.when(c.peak)
	if later := c.unseen.now.count - freed.count; later > 0 {
		sumOf(sums, 0).add(later, c.unseen.now.size-freed.size, c.unseen.now.requested-freed.requested, true)
	}
	return sums
}
