package parquet

import (
	"slices"
	"sort"
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

func spanOf(kind string, id schemas.Identity) Span {
	return Span{Kind: kind, RunID: id.RunID, Rank: id.Rank, Epoch: id.Epoch, First: id.Batch, Last: id.Batch}
}

// producer is the span without its range: what batches are counted by.
func (s Span) producer() Span {
	s.First, s.Last = 0, 0
	return s
}

// ledger is the set of batches in the archive, as ranges per producer. It is
// safe for use by several goroutines.
type ledger struct {
	mu     sync.Mutex
	ranges map[Span][]interval
}

type interval struct{ first, last uint64 }

func newLedger() *ledger { return &ledger{ranges: make(map[Span][]interval)} }

// has says whether the span's First is in the set.
func (l *ledger) has(s Span) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	ranges := l.ranges[s.producer()]
	i := after(ranges, s.First)
	return i > 0 && ranges[i-1].last >= s.First
}

// after is the position of the first interval that begins behind batch.
func after(ranges []interval, batch uint64) int {
	return sort.Search(len(ranges), func(i int) bool { return ranges[i].first > batch })
}

// add puts all batches of the span into the set.
func (l *ledger) add(s Span) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := s.producer()
	l.ranges[p] = union(l.ranges[p], interval{s.First, s.Last})
}

// union merges one more interval into sorted, disjoint ones; it also joins neighbours.
func union(ranges []interval, add interval) []interval {
	i := after(ranges, add.first)
	if i > 0 && (ranges[i-1].last >= add.first || ranges[i-1].last+1 == add.first) {
		i--
		add.first = ranges[i].first
	}
	j := i
	for j < len(ranges) && (ranges[j].first <= add.last || ranges[j].first == add.last+1) {
		add.last = max(add.last, ranges[j].last)
		j++
	}
	return slices.Replace(ranges, i, j, add)
}

// remove takes all batches of the span out of the set.
func (l *ledger) remove(s Span) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var kept []interval
	for _, r := range l.ranges[s.producer()] {
		kept = append(kept, cut(r, interval{s.First, s.Last})...)
	}
	l.ranges[s.producer()] = kept
}

// cut is what is left of r without the batches of hole.
func cut(r, hole interval) []interval {
	if hole.last < r.first || hole.first > r.last {
		return []interval{r}
	}
	var left []interval
	if r.first < hole.first {
		left = append(left, interval{r.first, hole.first - 1})
	}
	if hole.last < r.last {
		left = append(left, interval{hole.last + 1, r.last})
	}
	return left
}

// lacks is those batches of the span that are not in the set.
func (l *ledger) lacks(s Span) []Span {
	l.mu.Lock()
	defer l.mu.Unlock()
	holes := []interval{{s.First, s.Last}}
	for _, r := range l.ranges[s.producer()] {
		var next []interval
		for _, h := range holes {
			next = append(next, cut(h, r)...)
		}
		holes = next
	}
	spans := make([]Span, len(holes))
	for i, h := range holes {
		spans[i] = s
		spans[i].First, spans[i].Last = h.first, h.last
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
	for s, ranges := range l.ranges {
		for _, r := range ranges {
			s.First, s.Last = r.first, r.last
			spans = append(spans, s)
		}
	}
	slices.SortFunc(spans, compareSpans)
	return spans
}
