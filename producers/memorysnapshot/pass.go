package memorysnapshot

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/tensortap/tensortap/producers/internal/batch"
	"github.com/tensortap/tensortap/schemas"
)

// pass turns what was read of a snapshot into rows.
type pass struct {
	source *source
	shot   *snapshot
	out    *batch.Set
	damage error // that ended the reading
	seq    uint64
	stacks map[uint32]uint64 // ids of those that were handed over
}

func newPass(s *source, shot *snapshot, out *batch.Set, damage error) *pass {
	return &pass{source: s, shot: shot, out: out, damage: damage, stacks: map[uint32]uint64{0: 0}}
}

func (p *pass) run() error {
	if p.damage != nil {
		p.tellDamage()
	}
	for _, number := range slices.Sorted(maps.Keys(p.shot.devices)) {
		if err := p.addDevice(number, p.shot.devices[number]); err != nil {
			return err
		}
	}
	return p.out.Rest()
}

// tellDamage says what is lost, and why.
func (p *pass) tellDamage() {
	read := p.shot.machine.in.Read()
	p.problem("%v; %d of %d bytes were read, with %d events", p.damage, read, p.source.file.bytes, p.shot.events)
	switch {
	case !p.shot.segments:
		p.problem("not all segments were read: the allocations of those that were are kept, totals are not known")
	case !p.shot.traces:
		p.problem("the trace was not read to its end: memory at the end is kept, its course is not known")
	}
}

func (p *pass) problem(format string, args ...any) {
	p.source.Problems.Add(p.source.file.path + ": " + fmt.Sprintf(format, args...))
}

func (p *pass) addDevice(number int, d *device) error {
	name := "cuda:" + strconv.Itoa(number)
	var peak map[uint32]*sum
	if p.whole() {
		peak = d.reckon()
	}
	for _, text := range d.problems {
		p.problem("%s: %s", name, text)
	}
	p.source.Problems.Count += d.faults - len(d.problems)
	if err := p.addLooks(name, d); err != nil {
		return err
	}
	for _, key := range slices.SortedFunc(maps.Keys(d.end), compareOf) {
		if err := p.addAllocation(name, "end", key, d.end[key]); err != nil {
			return err
		}
	}
	for _, stack := range slices.Sorted(maps.Keys(peak)) {
		if err := p.addAllocation(name, "peak", of{active, stack}, peak[stack]); err != nil {
			return err
		}
	}
	return nil
}

func compareOf(a, b of) int {
	if a.state != b.state {
		return int(a.state) - int(b.state)
	}
	return int(a.stack) - int(b.stack)
}

// addLooks adds the course of a device that is wholly known, or else its end where that is.
func (p *pass) addLooks(name string, d *device) error {
	looks := []look{{free: -1}}
	switch {
	case !p.shot.segments:
		return nil
	case !p.whole(): // sums of a course that is not whole mean nothing
		d.course = newCourse()
		d.course.base, d.course.reservedBase = d.inUse, d.reserved
	case d.course.events > 0:
		looks = d.course.chosen()
	}
	for _, l := range looks {
		if err := p.addLook(name, d, l); err != nil {
			return err
		}
	}
	return nil
}

// whole says whether all was read that sums are made of.
func (p *pass) whole() bool { return p.shot.segments && p.shot.traces }

func (p *pass) addLook(name string, d *device, l look) error {
	c := &d.course
	row := schemas.MemoryRow{
		RunID: p.out.ID.RunID, Rank: p.out.ID.Rank, Epoch: p.out.ID.Epoch,
		EventTimeNs: p.source.EventTimeNs, Step: p.source.file.step, Seq: p.seq, Device: name,
		AllocatedBytes: bytesOf(c.base + l.inUse), ReservedBytes: bytesOf(c.reservedBase + l.reserved), OomCount: l.ooms,
	}
	if l.timeUs > 0 && l.timeUs < 1<<53 {
		row.EventTimeNs = l.timeUs * 1000
	}
	if l.free >= 0 {
		row.DeviceFreeBytes = bytesOf(l.free)
	}
	if l == c.last && c.events > 0 {
		row.PeakBytes = bytesOf(c.base + c.highest)
	}
	p.seq++
	return batch.AddMeasured(p.out, p.out.Memory, &row, len(name))
}

// bytesOf is null where a sum is impossible, which is said elsewhere.
func bytesOf(n int64) *uint64 {
	if n < 0 {
		return nil
	}
	bytes := uint64(n)
	return &bytes
}

func (p *pass) addAllocation(name, moment string, key of, s *sum) error {
	stack, err := p.stack(key.stack)
	if err != nil {
		return err
	}
	row := schemas.AllocationRow{
		RunID: p.out.ID.RunID, Rank: p.out.ID.Rank, Epoch: p.out.ID.Epoch,
		EventTimeNs: p.source.EventTimeNs, Step: p.source.file.step, Device: name, Moment: moment,
		State: key.state.String(), Component: component(p.shot.machine.known.lines(key.stack)), StackID: stack,
		AllocationCount: uint64(max(s.count, 0)), SizeBytes: uint64(max(s.size, 0)), //nolint:gosec // not negative
	}
	if !s.unknown {
		row.RequestedBytes = bytesOf(s.requested)
	}
	return batch.AddMeasured(p.out, p.out.Allocation, &row, 0)
}

// stack hands a stack over before its first row.
func (p *pass) stack(place uint32) (uint64, error) {
	if id, done := p.stacks[place]; done {
		return id, nil
	}
	id, err := p.out.AddStack(p.shot.machine.known.lines(place))
	p.stacks[place] = id
	return id, err
}
