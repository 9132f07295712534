package schemas

import (
	"iter"
	"math"
	"slices"
	"sort"
)

// BatchSpan is the batches from First to Last, both included.
type BatchSpan struct{ First, Last uint64 }

// without is the rest of the span when the batches of hole are taken out.
func (b BatchSpan) without(hole BatchSpan) []BatchSpan {
	if hole.Last < b.First || hole.First > b.Last {
		return []BatchSpan{b}
	}
	var left []BatchSpan
	if b.First < hole.First {
		left = append(left, BatchSpan{b.First, hole.First - 1})
	}
	if hole.Last < b.Last {
		left = append(left, BatchSpan{hole.Last + 1, b.Last})
	}
	return left
}

// BatchSet is a set of the batches of one producer. Batches count without
// gaps, so it keeps spans: its size is the number of gaps, not of batches. The
// zero value is the empty set. A copy shares memory with its original; after a
// change to one, only that one may be used.
type BatchSet struct {
	spans []BatchSpan // in order, with a gap between any two
}

// Holds says whether the batch is in the set.
func (s *BatchSet) Holds(batch uint64) bool {
	i := s.after(batch)
	return i > 0 && batch <= s.spans[i-1].Last
}

// after is the position of the first span that begins above batch.
func (s *BatchSet) after(batch uint64) int {
	return sort.Search(len(s.spans), func(i int) bool { return s.spans[i].First > batch })
}

// Add puts a batch into the set.
func (s *BatchSet) Add(batch uint64) { s.AddSpan(BatchSpan{batch, batch}) }

// AddSpan puts all batches of the span into the set.
func (s *BatchSet) AddSpan(add BatchSpan) {
	i := s.after(add.First)
	// last+1 of the greatest batch is 0, which no span after it begins with.
	if i > 0 && (s.spans[i-1].Last >= add.First || s.spans[i-1].Last+1 == add.First) {
		i--
		add.First = s.spans[i].First
	}
	j := i
	for j < len(s.spans) && (s.spans[j].First <= add.Last || s.spans[j].First == add.Last+1) {
		add.Last = max(add.Last, s.spans[j].Last)
		j++
	}
	s.spans = slices.Replace(s.spans, i, j, add)
}

// RemoveSpan takes all batches of the span out of the set.
func (s *BatchSet) RemoveSpan(hole BatchSpan) {
	var kept []BatchSpan
	for _, span := range s.spans {
		kept = append(kept, span.without(hole)...)
	}
	s.spans = kept
}

// Spans yields the set in order, in as few spans as it takes.
func (s *BatchSet) Spans() iter.Seq[BatchSpan] { return slices.Values(s.spans) }

// Lacks is those batches of the span that are not in the set, in order.
func (s *BatchSet) Lacks(of BatchSpan) []BatchSpan {
	holes := []BatchSpan{of}
	for _, span := range s.spans {
		last := len(holes) - 1
		if last < 0 {
			break
		}
		// Spans are in order, so only the last hole can still shrink.
		holes = append(holes[:last], holes[last].without(span)...)
	}
	return holes
}

// Count is the number of batches in the set. Of all 2^64 batches, which do not
// fit, it says one less.
func (s *BatchSet) Count() uint64 {
	var n uint64
	for _, span := range s.spans {
		if span == (BatchSpan{0, math.MaxUint64}) {
			return math.MaxUint64
		}
		n += span.Last - span.First + 1
	}
	return n
}
