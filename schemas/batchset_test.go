package schemas

import (
	"math"
	"slices"
	"testing"
)

const lastBatch = math.MaxUint64

func TestBatchSetJoinsWhatTouches(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		add   []BatchSpan
		want  []BatchSpan
		count uint64
	}{
		"nothing":                       {},
		"one batch":                     {[]BatchSpan{{7, 7}}, []BatchSpan{{7, 7}}, 1},
		"the same twice":                {[]BatchSpan{{7, 7}, {7, 7}}, []BatchSpan{{7, 7}}, 1},
		"neighbours in order":           {[]BatchSpan{{0, 0}, {1, 1}, {2, 2}}, []BatchSpan{{0, 2}}, 3},
		"neighbours in reverse":         {[]BatchSpan{{2, 2}, {1, 1}, {0, 0}}, []BatchSpan{{0, 2}}, 3},
		"a gap":                         {[]BatchSpan{{4, 4}, {0, 0}}, []BatchSpan{{0, 0}, {4, 4}}, 2},
		"the gap filled":                {[]BatchSpan{{0, 0}, {2, 2}, {1, 1}}, []BatchSpan{{0, 2}}, 3},
		"one span over many":            {[]BatchSpan{{2, 2}, {4, 4}, {9, 12}, {20, 21}, {3, 10}}, []BatchSpan{{2, 12}, {20, 21}}, 13},
		"one span within another":       {[]BatchSpan{{2, 9}, {4, 5}}, []BatchSpan{{2, 9}}, 8},
		"the first and the last of all": {[]BatchSpan{{lastBatch, lastBatch}, {0, 0}}, []BatchSpan{{0, 0}, {lastBatch, lastBatch}}, 2},
		"the last two of all":           {[]BatchSpan{{lastBatch, lastBatch}, {lastBatch - 1, lastBatch - 1}}, []BatchSpan{{lastBatch - 1, lastBatch}}, 2},
		"all":                           {[]BatchSpan{{5, 5}, {0, lastBatch}, {9, 9}}, []BatchSpan{{0, lastBatch}}, lastBatch},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var set BatchSet
			for _, span := range test.add {
				set.AddSpan(span)
			}
			if got := slices.Collect(set.Spans()); !slices.Equal(got, test.want) || set.Count() != test.count {
				t.Errorf("spans are %v with %d batches, want %v with %d", got, set.Count(), test.want, test.count)
			}
		})
	}
}

func TestBatchSetNamesWhatItLacks(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		add  []BatchSpan
		of   BatchSpan
		want []BatchSpan
	}{
		"of nothing, all":          {nil, BatchSpan{3, 5}, []BatchSpan{{3, 5}}},
		"none":                     {[]BatchSpan{{0, 9}}, BatchSpan{3, 5}, nil},
		"the middle":               {[]BatchSpan{{0, 2}, {6, 9}}, BatchSpan{1, 7}, []BatchSpan{{3, 5}}},
		"both ends":                {[]BatchSpan{{3, 5}}, BatchSpan{0, 9}, []BatchSpan{{0, 2}, {6, 9}}},
		"what lies beside the set": {[]BatchSpan{{0, 2}, {20, 30}}, BatchSpan{5, 9}, []BatchSpan{{5, 9}}},
		"many":                     {[]BatchSpan{{1, 1}, {3, 3}, {5, 5}}, BatchSpan{0, 6}, []BatchSpan{{0, 0}, {2, 2}, {4, 4}, {6, 6}}},
		"all but the ends":         {[]BatchSpan{{0, 0}, {lastBatch, lastBatch}}, BatchSpan{0, lastBatch}, []BatchSpan{{1, lastBatch - 1}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var set BatchSet
			for _, span := range test.add {
				set.AddSpan(span)
			}
			if got := set.Lacks(test.of); !slices.Equal(got, test.want) {
				t.Errorf("%v lacks %v of %v, want %v", test.add, got, test.of, test.want)
			}
		})
	}
}

// FuzzBatchSet compares the set with a map. Each three bytes are one change: what, where, how many.
func FuzzBatchSet(f *testing.F) {
	f.Add([]byte{0, 5, 0, 0, 7, 0, 0, 6, 0})
	f.Add([]byte{1, 0, 255, 2, 10, 20, 1, 15, 2})
	f.Add([]byte{4, 255, 0, 4, 254, 0, 6, 255, 3, 0, 0, 0})
	f.Fuzz(func(t *testing.T, changes []byte) {
		var set BatchSet
		want := make(map[uint64]bool)
		for ; len(changes) >= 3; changes = changes[3:] {
			change(&set, want, changes[0], changes[1], changes[2])
		}
		for batch := range uint64(512) {
			for _, b := range []uint64{batch, lastBatch - batch} {
				if set.Holds(b) != want[b] {
					t.Fatalf("%v holds %d = %t, want %t", set.spans, b, set.Holds(b), want[b])
				}
			}
		}
		checkShape(t, &set, uint64(len(want)))
	})
}

// change makes the same change to both: from below, or with bit 2 down from the last batch of all.
func change(set *BatchSet, want map[uint64]bool, what, at, more byte) {
	span := BatchSpan{uint64(at), uint64(at) + uint64(more)}
	if what&4 != 0 {
		span = BatchSpan{lastBatch - span.Last, lastBatch - span.First}
	}
	switch what & 3 {
	case 0:
		set.Add(span.First)
		span.Last = span.First
	case 1:
		set.AddSpan(span)
	default:
		set.RemoveSpan(span)
	}
	for n := range span.Last - span.First + 1 {
		if what&3 < 2 {
			want[span.First+n] = true
		} else {
			delete(want, span.First+n)
		}
	}
}

func checkShape(t *testing.T, set *BatchSet, count uint64) {
	t.Helper()
	if set.Count() != count {
		t.Fatalf("%v counts %d, want %d", set.spans, set.Count(), count)
	}
	for i, span := range set.spans {
		if span.First > span.Last || i > 0 && span.First-1 <= set.spans[i-1].Last {
			t.Fatalf("%v are not spans with gaps between them", set.spans)
		}
	}
	for _, hole := range set.Lacks(BatchSpan{0, lastBatch}) {
		if set.Holds(hole.First) || set.Holds(hole.Last) {
			t.Fatalf("%v lacks %v, which it holds", set.spans, hole)
		}
		count += hole.Last - hole.First + 1
	}
	if count != 0 { // 2^64: set and holes make all
		t.Fatalf("%v and what it lacks are not all batches", set.spans)
	}
}
