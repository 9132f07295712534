package judging

import (
	"sync"
	"sync/atomic"
	"time"
)

// Metrics counts the work of a judge of standing comparisons. The zero value is ready; a nil one counts nothing. All methods
// may be called at any time.
type Metrics struct {
	standing, failing             atomic.Int64
	judged, provisional, failures atomic.Uint64
	busy                          atomic.Int64

	mutex   sync.Mutex
	waiting map[uint64]int
}

// Snapshot is a copy of the counts of Metrics at one moment.
type Snapshot struct {
	Standing    int           // comparisons that stand, be they this judge's or another's
	Failing     int           // of those, which could not be judged at the last try
	Failures    uint64        // tries that failed
	Waiting     int           // steps of ranks of this judge's comparisons that are there and not yet ready to be judged
	Judged      uint64        // steps of ranks whose verdicts were published
	Provisional uint64        // of those, steps that were not whole
	Busy        time.Duration // spent on reading and judging
}

// Snapshot reads all counts.
func (m *Metrics) Snapshot() Snapshot {
	s := Snapshot{
		Standing: int(m.standing.Load()), Failing: int(m.failing.Load()), Failures: m.failures.Load(),
		Judged: m.judged.Load(), Provisional: m.provisional.Load(), Busy: time.Duration(m.busy.Load()),
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for _, steps := range m.waiting {
		s.Waiting += steps
	}
	return s
}

// stand notes which comparisons there are, and forgets what waited for others.
func (m *Metrics) stand(comparisons []standing, failing int) {
	if m == nil {
		return
	}
	m.standing.Store(int64(len(comparisons)))
	m.failing.Store(int64(failing))
	m.mutex.Lock()
	defer m.mutex.Unlock()
	known := make(map[uint64]int, len(comparisons))
	for i := range comparisons {
		known[comparisons[i].id] = m.waiting[comparisons[i].id]
	}
	m.waiting = known
}

// brought notes how a comparison was brought up to date: for how long, and which steps are still to come.
func (m *Metrics) brought(comparison uint64, took time.Duration, waiting int) {
	if m == nil {
		return
	}
	m.busy.Add(int64(took))
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.waiting == nil {
		m.waiting = map[uint64]int{}
	}
	m.waiting[comparison] = waiting
}

func (m *Metrics) failed() {
	if m != nil {
		m.failures.Add(1)
	}
}

// unit counts a step whose verdicts were published.
func (m *Metrics) unit(provisional bool) { //nolint:revive // flag-parameter: a fact about the unit
	if m == nil {
		return
	}
	m.judged.Add(1)
	if provisional {
		m.provisional.Add(1)
	}
}
