package clickhouse

import (
	"cmp"
	"slices"

	"github.com/tensortap/tensortap/schemas"
)

// producer is one start of one rank of one run, or one file.
type producer struct {
	runID uint64
	rank  uint32
	epoch uint64
}

func producerOf(id schemas.Identity) producer {
	return producer{runID: id.RunID, rank: id.Rank, epoch: id.Epoch}
}

// memory is which batches of which producers are stored. Of a producer that is
// not in it nothing is known.
type memory struct {
	limit int // producers
	sets  map[producer]*batchSet
	clock uint64 // counts uses
}

type batchSet struct {
	batches intervals
	used    uint64
}

func newMemory(limit int) *memory {
	return &memory{limit: limit, sets: make(map[producer]*batchSet)}
}

func (m *memory) knows(p producer) bool { return m.sets[p] != nil }

// learn sets what is stored of a producer.
func (m *memory) learn(p producer, batches intervals) {
	m.clock++
	m.sets[p] = &batchSet{batches: batches, used: m.clock}
}

func (m *memory) forget(p producer) { delete(m.sets, p) }

func (m *memory) holds(id schemas.Identity) bool {
	set := m.sets[producerOf(id)]
	if set == nil {
		return false
	}
	m.clock++
	set.used = m.clock
	return set.batches.contains(id.Batch)
}

// add notes that a batch is stored. Of an unknown producer it notes nothing:
// its other batches would seem missing.
func (m *memory) add(id schemas.Identity) {
	if set := m.sets[producerOf(id)]; set != nil {
		set.batches = set.batches.with(id.Batch)
	}
}

// trim forgets the producers not used for longest, some more than needed, so
// that it does not have to sort each time.
func (m *memory) trim() {
	if len(m.sets) <= m.limit {
		return
	}
	all := make([]producer, 0, len(m.sets))
	for p := range m.sets {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b producer) int { return cmp.Compare(m.sets[a].used, m.sets[b].used) })
	for _, p := range all[:len(all)-m.limit*3/4] {
		delete(m.sets, p)
	}
}

// interval is the batches from first to last.
type interval struct{ first, last uint64 }

// intervals is a set of batches: in order, not touching each other.
type intervals []interval

func (s intervals) contains(batch uint64) bool {
	i := s.after(batch)
	return i > 0 && batch <= s[i-1].last
}

// after is the position of the first interval that begins above batch.
func (s intervals) after(batch uint64) int {
	i, _ := slices.BinarySearchFunc(s, batch, func(v interval, b uint64) int {
		if v.first > b {
			return 1
		}
		return -1
	})
	return i
}

// with returns the set with batch in it. It may reuse the memory of s.
func (s intervals) with(batch uint64) intervals {
	i := s.after(batch)
	if i > 0 && batch <= s[i-1].last {
		return s
	}
	joinsLeft := i > 0 && s[i-1].last+1 == batch
	joinsRight := i < len(s) && batch+1 == s[i].first
	switch {
	case joinsLeft && joinsRight:
		s[i-1].last = s[i].last
		return slices.Delete(s, i, i+1)
	case joinsLeft:
		s[i-1].last = batch
	case joinsRight:
		s[i].first = batch
	default:
		return slices.Insert(s, i, interval{first: batch, last: batch})
	}
	return s
}
