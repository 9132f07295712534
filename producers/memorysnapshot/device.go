package memorysnapshot

import (
	"fmt"
	"maps"
	"slices"
)

const (
	mostLive = 4 << 20 // allocations whose stacks are known at a time
	granule  = 512     // bytes; the allocator rounds up to it
)

// state is what the allocator says of a block.
type state uint8

const (
	inactive state = iota
	active
	awaitingFree
)

// stateOf reads both names that versions of PyTorch have for a block that waits for another stream.
func (m *machine) stateOf(v value) state {
	if v.kind != text {
		return inactive
	}
	switch m.known.texts[v.n] {
	case "active_allocated":
		return active
	case "active_awaiting_free", "active_pending_free":
		return awaitingFree
	}
	return inactive
}

func (s state) String() string {
	return [...]string{"inactive", "active", "awaiting free"}[s]
}

// sum is the memory of some blocks.
type sum struct {
	count, size, requested int64
	unknown                bool // requested, of one of them at least
}

func (s *sum) add(count, size, requested int64, known bool) {
	s.count += count
	s.size += size
	s.requested += requested
	s.unknown = s.unknown || !known
}

// of is whose memory it is.
type of struct {
	state state
	stack uint32
}

// device is one device's memory at the end of a snapshot, and its course before.
type device struct {
	reserved, segments int64
	inUse              int64 // with what waits for another stream
	end                map[of]*sum
	blocks             map[uint64]block // in use at the end
	course             course
	problems           []string
	faults             int
}

func newDevice() *device {
	return &device{end: map[of]*sum{}, blocks: map[uint64]block{}, course: newCourse()}
}

const mostFaults = 10 // of a device that are quoted

func (d *device) fault(format string, args ...any) {
	if d.faults++; d.faults <= mostFaults {
		d.problems = append(d.problems, fmt.Sprintf(format, args...))
	}
}

// segment adds a segment, and checks that its blocks are all of it.
func (d *device) segment(c *container, blocks []block) {
	var total, allocated, use int64
	for i := range blocks {
		b := &blocks[i]
		total += b.size
		d.add(b)
		if b.state == active {
			allocated += b.size
		}
		if b.state != inactive {
			use += b.size
		}
	}
	d.segments++
	d.reserved += c.size(fieldTotal)
	d.inUse += use
	address := c.bytes(fieldAddress)
	for _, check := range []struct {
		field field
		name  string
		sum   int64
	}{
		{fieldTotal, "total_size", total}, {fieldAllocated, "allocated_size", allocated}, {fieldActive, "active_size", use},
	} {
		if c.holds(check.field) && c.size(check.field) != check.sum {
			d.fault("segment %#x: its %s is %d, its blocks have %d", address, check.name, c.size(check.field), check.sum)
		}
	}
}

func (d *device) add(b *block) {
	key := of{b.state, b.stack}
	if d.end[key] == nil {
		d.end[key] = &sum{}
	}
	d.end[key].add(1, b.size, b.requested, b.known)
	if b.state != inactive && len(d.blocks) < mostLive {
		d.blocks[b.address] = *b
	}
}

// reckon fixes the course by the end, and checks that it is possible. It says what was held at the peak.
func (d *device) reckon() map[uint32]*sum {
	c := &d.course
	c.base, c.reservedBase = d.inUse-c.now, d.reserved-c.reservedNow
	if low := c.base + c.lowest; low < 0 {
		d.fault("reckoned back from the end, %d bytes less than none are in use: the trace does not fit the blocks", -low)
	}
	if over := c.base - c.reservedBase + c.mostOver; over > 0 {
		d.fault("reckoned back from the end, %d bytes more are in use than reserved: the trace does not fit the segments", over)
	}
	if c.twice > 0 {
		d.fault("%d blocks were allocated that were in use", c.twice)
	}
	if c.tooMany || len(d.blocks) >= mostLive {
		d.fault("more than %d blocks are in use at a time: what holds memory at the peak is not reckoned", mostLive)
		return nil
	}
	peak := c.heldAtPeak()
	for _, address := range slices.Sorted(maps.Keys(d.blocks)) {
		b := d.blocks[address]
		if _, seen := c.live[address]; !seen { // older than the trace
			sumOf(peak, b.stack).add(1, b.size, b.requested, b.known)
		}
	}
	return peak
}

func sumOf(sums map[uint32]*sum, stack uint32) *sum {
	if sums[stack] == nil {
		sums[stack] = &sum{}
	}
	return sums[stack]
}
