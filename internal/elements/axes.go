package elements

import (
	"math/bits"
	"slices"
)

// mostGroups bounds the indices of an axis that are told apart.
const mostGroups = 1 << 20

// Axis says which indices of an axis have elements that differ.
type Axis struct {
	Size   int64
	Group  int64 // indices that are told apart together, 1 unless the axis is very long
	Differ int64 // indices, or those in groups, that have some
	Ranges []Range
	Parts  int // of Ranges in all, of which Ranges has the first
}

// Range is a range of indices, with its last.
type Range struct{ First, Last int64 }

// Whole says whether all indices have some.
func (a *Axis) Whole() bool { return a.Differ == a.Size }

// indices are sets of indices, one for each axis.
type indices struct {
	shape  []int64
	groups []int64
	sets   [][]uint64
}

func newIndices(shape []int64) *indices {
	s := &indices{shape: shape}
	for _, n := range shape {
		group := int64(1)
		for n/group > mostGroups {
			group *= 2
		}
		s.groups = append(s.groups, group)
		s.sets = append(s.sets, make([]uint64, ((n+group-1)/group+63)/64))
	}
	return s
}

// add takes in an element by its number.
func (s *indices) add(number int64) {
	for i, n := range slices.Backward(s.shape) {
		at := number % n / s.groups[i]
		s.sets[i][at/64] |= 1 << (at % 64)
		number /= n
	}
}

// axes are what was found.
func (s *indices) axes() []Axis {
	found := make([]Axis, len(s.shape))
	for i := range found {
		found[i] = s.axis(i)
	}
	return found
}

// mostRanges are kept of an axis.
const mostRanges = 64

func (s *indices) axis(i int) Axis {
	a := Axis{Size: s.shape[i], Group: s.groups[i]}
	for word, set := range s.sets[i] {
		for ; set != 0; set &= set - 1 {
			first := (int64(word)*64 + int64(bits.TrailingZeros64(set))) * a.Group
			a.add(Range{first, min(first+a.Group, a.Size) - 1})
		}
	}
	return a
}

func (a *Axis) add(r Range) {
	a.Differ += r.Last - r.First + 1
	if n := len(a.Ranges); n > 0 && n == a.Parts && a.Ranges[n-1].Last+1 == r.First {
		a.Ranges[n-1].Last = r.Last
		return
	}
	if a.Parts++; len(a.Ranges) < mostRanges {
		a.Ranges = append(a.Ranges, r)
	}
}
