package merge

import (
	"math"
	"slices"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// parts are the parts of one tensor, by rank, and the tensor beside them in the other run.
type parts struct {
	list      []rows.Observation
	layouts   []*schemas.LayoutRow
	members   int64 // ranks of the group
	otherSize int64 // ranks of a group of the other run

	found  bool // whether anything stands beside the leader's part
	digest uint64
	other  *schemas.LayoutRow
}

func (p *parts) beside(b Beside, leaderRow int32, definitions *rows.Definitions) {
	p.other = &schemas.LayoutRow{}
	if leaderRow == none || int(leaderRow) >= len(b.Rows) || b.Rows[leaderRow] == none {
		return
	}
	other := b.Tensors.At(int(b.Rows[leaderRow]))
	p.found, p.digest, p.other = true, other.Digest, defined(definitions, other.LayoutID)
}

// complete says whether every rank of the group has a part.
func (p *parts) complete() bool { return int64(len(p.list)) == p.members }

// sameOnAll says whether all ranks hold the same, as far as was recorded.
func (p *parts) sameOnAll() bool {
	first := &p.list[0]
	for i := range p.list[1:] {
		if !sameRecorded(first, &p.list[i+1]) {
			return false
		}
	}
	return true
}

func sameRecorded(a, b *rows.Observation) bool {
	return a.LayoutID == b.LayoutID && a.Measured == b.Measured && a.ElementCount == b.ElementCount &&
		sameBits(a.Min, b.Min) && sameBits(a.Max, b.Max) && sameBits(a.Mean, b.Mean) && sameBits(a.L2, b.L2) && sameBits(a.L1, b.L1) &&
		a.NaNCount == b.NaNCount && a.PositiveInfinityCount == b.PositiveInfinityCount && a.NegativeInfinityCount == b.NegativeInfinityCount &&
		a.ZeroCount == b.ZeroCount && a.Digest == b.Digest && a.DigestKind == b.DigestKind &&
		slices.EqualFunc(a.Sketch, b.Sketch, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}

func sameBits(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }

// shapes is the common part of the shapes of all parts, by dimension.
type shapes struct {
	alike bool // whether all have as many dimensions
	sums  []int64
	adds  []bool // whether the sizes add up to the size beside them
	same  []bool // whether all sizes are the size beside them
}

func (p *parts) shapes() shapes {
	s := shapes{alike: true}
	own := make([][]int64, len(p.layouts))
	for i, l := range p.layouts {
		own[i] = p.asRow(l.Shape)
		s.alike = s.alike && len(own[i]) == len(own[0])
	}
	if !s.alike {
		return s
	}
	for d := range own[0] {
		sum, equal := int64(0), true
		for _, shape := range own {
			sum += shape[d]
			equal = equal && shape[d] == own[0][d]
		}
		other := int64(0)
		if d < len(p.other.Shape) {
			other = p.other.Shape[d]
		}
		s.sums = append(s.sums, sum)
		s.adds = append(s.adds, sum == other*p.otherSize)
		s.same = append(s.same, equal && own[0][d] == other)
	}
	return s
}

// asRow is the shape of a part, which may be one row of the matrix beside it: the only head of a rank.
func (p *parts) asRow(shape []int64) []int64 {
	if len(shape) == 1 && len(p.other.Shape) == 2 {
		return []int64{1, shape[0]}
	}
	return shape
}

// allSame says whether the parts have the shape beside them.
func (s *shapes) allSame() bool { return s.alike && !slices.Contains(s.same, false) }

// split says whether the parts make the shape beside them along one dimension, and are of its size in all others. A
// dimension of 1, which each part has, adds up to nothing.
func (s *shapes) split() bool {
	dimensions := 0
	for d := range s.sums {
		switch {
		case s.adds[d] && !s.same[d]:
			dimensions++
		case !s.same[d]:
			return false
		}
	}
	return dimensions == 1
}

// whole is the shape of which the parts are shards.
func (s *shapes) whole(members int64) []int64 {
	shape := make([]int64, len(s.sums))
	for d := range s.sums {
		shape[d] = s.sums[d]
		if !s.adds[d] || s.same[d] {
			shape[d] /= members
		}
	}
	return shape
}
