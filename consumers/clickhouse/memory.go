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

// memory holds the stored batches of producers. Of a producer that is not in it nothing is known.
type memory struct {
	limit int // producers
	sets  map[producer]*remembered
	clock uint64 // counts uses
}

type remembered struct {
	batches schemas.BatchSet
	used    uint64
}

func newMemory(limit int) *memory {
	return &memory{limit: limit, sets: make(map[producer]*remembered)}
}

func (m *memory) knows(p producer) bool { return m.sets[p] != nil }

// learn sets the stored batches of a producer.
func (m *memory) learn(p producer, batches schemas.BatchSet) {
	m.clock++
	m.sets[p] = &remembered{batches: batches, used: m.clock}
}

func (m *memory) forget(p producer) { delete(m.sets, p) }

func (m *memory) holds(id schemas.Identity) bool {
	set := m.sets[producerOf(id)]
	if set == nil {
		return false
	}
	m.clock++
	set.used = m.clock
	return set.batches.Holds(id.Batch)
}

// add notes that a batch is stored. Of an unknown producer it notes nothing:
// its other batches would seem missing.
func (m *memory) add(id schemas.Identity) {
	if set := m.sets[producerOf(id)]; set != nil {
		set.batches.Add(id.Batch)
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
