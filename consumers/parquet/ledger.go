package parquet

import (
	"fmt"
	"slices"
	"sync"

	"github.com/tensortap/tensortap/schemas"
)

// Span is a range of batches of one producer: First to Last, both included.
type Span struct {
	Kind  string
	RunID uint64
	Rank  uint32
	Epoch uint64
	First uint64
	Last  uint64
}

// String names the producer as message ids do, and the range.
func (s Span) String() string {
	return fmt.Sprintf("%016x/%d/%016x/%s/%d-%d", s.RunID, s.Rank, s.Epoch, s.Kind, s.First, s.Last)
}

func spanOf(kind string, id schemas.Identity) Span {
	return Span{Kind: kind, RunID: id.RunID, Rank: id.Rank, Epoch: id.Epoch, First: id.Batch, Last: id.Batch}
}

// producer is the span without its range: batches are counted by it.
func (s Span) producer() Span { return s.with(schemas.BatchSpan{}) }

func (s Span) batches() schemas.BatchSpan { return schemas.BatchSpan{First: s.First, Last: s.Last} }

// with is the same producer's other batches.
func (s Span) with(batches schemas.BatchSpan) Span {
	s.First, s.Last = batches.First, batches.Last
	return s
}

// ledger is the set of batches in the archive, per producer. It is safe for
// use by several goroutines.
type ledger struct {
	mu   sync.Mutex
	sets map[Span]schemas.BatchSet
}

func newLedger() *ledger { return &ledger{sets: make(map[Span]schemas.BatchSet)} }

// has says whether the span's First is in the set.
func (l *ledger) has(s Span) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	set := l.sets[s.producer()]
	return set.Holds(s.First)
}

// add puts all batches of the span into the set.
func (l *ledger) add(s Span) {
	l.mu.Lock()
	defer l.mu.Unlock()
	set := l.sets[s.producer()]
	set.AddSpan(s.batches())
	l.sets[s.producer()] = set
}

// remove takes all batches of the span out of the set.
func (l *ledger) remove(s Span) {
	l.mu.Lock()
	defer l.mu.Unlock()
	set := l.sets[s.producer()]
	set.RemoveSpan(s.batches())
	l.sets[s.producer()] = set
}

// lacks is those batches of the span that are not in the set.
func (l *ledger) lacks(s Span) []Span {
	l.mu.Lock()
	defer l.mu.Unlock()
	set := l.sets[s.producer()]
	var spans []Span
	for _, hole := range set.Lacks(s.batches()) {
		spans = append(spans, s.with(hole))
	}
	return spans
}

// spansOf is the batches of one file, in as few spans as they need.
func spansOf(kind string, run uint64, batches []batch) []Span {
	l := newLedger()
	for _, b := range batches {
		l.add(spanOf(kind, b.identity(run)))
	}
	var spans []Span
	for s, set := range l.sets {
		for batches := range set.Spans() {
			spans = append(spans, s.with(batches))
		}
	}
	slices.SortFunc(spans, compareSpans)
	return spans
}
