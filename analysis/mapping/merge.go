package mapping

import (
	"math"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// markNoWhole is the bit of measured that says that parts do not make a whole; judge knows it.
const markNoWhole uint32 = 1 << 18

// Merge are the statistics of tensors put together, in any order of elements: exact, but for digest and sketch, which
// are taken by the place of each element and are left out. What one part lacks, the whole lacks. Place and layout are
// those of the first part.
func Merge(parts []rows.Observation) rows.Observation {
	whole := parts[0]
	whole.Digest, whole.DigestKind, whole.Sketch = 0, schemas.DigestNone, nil
	squares := scaled{}
	squares.add(parts[0].L2)
	for i := range parts[1:] {
		part := &parts[1+i]
		whole.Min, whole.Max = extremes(&whole, part)
		whole.Mean, whole.M2 = moments(&whole, part)
		whole.L1 += part.L1
		squares.add(part.L2)
		whole.Measured &= part.Measured
		whole.ElementCount += part.ElementCount
		whole.NaNCount += part.NaNCount
		whole.PositiveInfinityCount += part.PositiveInfinityCount
		whole.NegativeInfinityCount += part.NegativeInfinityCount
		whole.ZeroCount += part.ZeroCount
		whole.SubnormalCount += part.SubnormalCount
	}
	whole.L2 = squares.norm()
	return whole
}

// extremes are of both, NaN where either is: math.Min and math.Max say so, too, but for an infinity beside it.
func extremes(a, b *rows.Observation) (least, greatest float64) {
	switch {
	case finiteCount(a) == 0:
		return b.Min, b.Max
	case finiteCount(b) == 0:
		return a.Min, a.Max
	}
	return either(a.Min, b.Min, math.Min), either(a.Max, b.Max, math.Max)
}

func either(a, b float64, of func(a, b float64) float64) float64 {
	if math.IsNaN(a) || math.IsNaN(b) {
		return math.NaN()
	}
	return of(a, b)
}

// moments are mean and sum of squared deviations of the finite elements of both, by Chan's rule.
func moments(a, b *rows.Observation) (mean, m2 float64) {
	na, nb := finiteCount(a), finiteCount(b)
	switch {
	case na == 0:
		return b.Mean, b.M2
	case nb == 0:
		return a.Mean, a.M2
	}
	delta, n := b.Mean-a.Mean, na+nb
	return a.Mean + delta*(nb/n), a.M2 + b.M2 + delta*delta*(na*nb/n)
}

func finiteCount(o *rows.Observation) float64 {
	return float64(o.ElementCount - min(o.NotFinite(), o.ElementCount))
}

// scaled adds squares up without leaving the range of numbers.
type scaled struct{ greatest, sum float64 }

func (s *scaled) add(norm float64) {
	switch {
	case norm == 0:
	case norm > s.greatest:
		if ratio := s.greatest / norm; !math.IsInf(norm, 1) {
			s.sum = s.sum*ratio*ratio + 1
		} else {
			s.sum = 1
		}
		s.greatest = norm
	case norm == s.greatest && math.IsInf(norm, 1):
	default:
		ratio := norm / s.greatest // NaN stays
		s.sum += ratio * ratio
	}
}

func (s *scaled) norm() float64 {
	switch {
	case math.IsNaN(s.sum):
		return math.NaN()
	case s.greatest == 0:
		return 0
	}
	return s.greatest * math.Sqrt(s.sum)
}

// how says how the tensors of several parts make one.
type how uint8

const (
	concatenated how = iota // one behind the other along a dimension
	copied                  // the same given to each
	added                   // sums, of which statistics say nothing
)

// copiesOf is one of several observations of the same tensor; ok is false where they are not the same.
func copiesOf(parts []rows.Observation) (rows.Observation, bool) {
	for i := range parts[1:] {
		if !sameValues(&parts[0], &parts[1+i]) {
			return parts[0], false
		}
	}
	return parts[0], true
}

func sameValues(a, b *rows.Observation) bool {
	return a.Measured == b.Measured && a.ElementCount == b.ElementCount && a.LayoutID == b.LayoutID &&
		alike(a.Min, b.Min) && alike(a.Max, b.Max) && alike(a.Mean, b.Mean) && alike(a.L2, b.L2) &&
		a.NaNCount == b.NaNCount && a.Digest == b.Digest && a.DigestKind == b.DigestKind
}

func alike(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

// noWhole is an observation of which only the layout counts.
func noWhole(o rows.Observation) rows.Observation {
	return rows.Observation{
		Seq: o.Seq, SiteID: o.SiteID, LayoutID: o.LayoutID, MicroStep: o.MicroStep, ElementCount: o.ElementCount, Measured: markNoWhole,
	}
}

// concatenatedShape is the shape of tensors put behind each other along a dimension; -1 is the last. A dimension that
// they lack is their last. ok is false where other dimensions differ.
func concatenatedShape(shapes [][]int64, along int) (whole []int64, ok bool) {
	dimensions := len(shapes[0])
	if dimensions == 0 {
		return nil, false
	}
	if along < 0 || along >= dimensions {
		along = dimensions - 1
	}
	whole = append([]int64(nil), shapes[0]...)
	for _, shape := range shapes[1:] {
		if len(shape) != dimensions {
			return nil, false
		}
		for i, size := range shape {
			switch {
			case i == along:
				whole[i] += size
			case size != whole[i]:
				return nil, false
			}
		}
	}
	return whole, true
}

// flattened is a shape whose dimensions but the last are one, which is left out where it is 1.
func flattened(shape []int64) []int64 {
	if len(shape) < 2 {
		return shape
	}
	before := int64(1)
	for _, size := range shape[:len(shape)-1] {
		before *= size
	}
	if before == 1 {
		return shape[len(shape)-1:]
	}
	return []int64{before, shape[len(shape)-1]}
}
