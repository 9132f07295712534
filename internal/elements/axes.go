package elements

import (
	"math"
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

// indices count elements by their index, for each axis.
type indices struct {
	shape  []int64
	groups []int64
	counts [][]uint32 // that stop at the greatest number
}

func newIndices(shape []int64) *indices {
	s := &indices{shape: shape}
	for _, n := range shape {
		group := int64(1)
		for n/group > mostGroups {
			group *= 2
		}
		s.groups = append(s.groups, group)
		s.counts = append(s.counts, make([]uint32, (n+group-1)/group))
	}
	return s
}

// add takes in an element by its number.
func (s *indices) add(number int64) {
	for i, n := range slices.Backward(s.shape) {
		if at := &s.counts[i][number%n/s.groups[i]]; *at < math.MaxUint32 {
			*at++
		}
		number /= n
	}
}

// axes are what was found.
func (s *indices) axes() []Axis {
	found := make([]Axis, len(s.shape))
	for i := range found {
		found[i], _ = s.axis(i, 1)
	}
	return found
}

// strays is the share of elements that may lie outside of a region that most are in.
const strays = 0.1

// main are the indices that have more than a few elements, and how many elements at most have others.
func (s *indices) main() (axes []Axis, outside int64) {
	axes = make([]Axis, len(s.shape))
	for i, counts := range s.counts {
		var few int64
		axes[i], few = s.axis(i, uint32(strays*float64(slices.Max(counts)))+1)
		outside += few
	}
	return axes, outside
}

// mostRanges are kept of an axis.
const mostRanges = 64

// axis is the indices with so many elements, and how many elements the others have.
func (s *indices) axis(i int, least uint32) (a Axis, few int64) {
	a = Axis{Size: s.shape[i], Group: s.groups[i]}
	for at, count := range s.counts[i] {
		if count < least {
			few += int64(count)
			continue
		}
		first := int64(at) * a.Group
		a.add(Range{first, min(first+a.Group, a.Size) - 1})
	}
	return a, few
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
