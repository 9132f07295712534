package folders

import (
	"math"
	"slices"

	"github.com/tensortap/tensortap/analysis/rows"
)

// keep copies the tensors to memory of their own size. A column equal to the one of the dump before, as ids and
// counts mostly are, shares its memory.
func (r *reader) keep() {
	var none rows.Tensors
	from, before, to := &r.scratch, &none, &rows.Tensors{}
	if r.last != nil {
		before = r.last.tensors
	}
	column(&to.Seq, &from.Seq, before.Seq)
	column(&to.SiteID, &from.SiteID, before.SiteID)
	same := column(&to.LayoutID, &from.LayoutID, before.LayoutID) && r.last != nil
	column(&to.MicroStep, &from.MicroStep, before.MicroStep)
	column(&to.Measured, &from.Measured, before.Measured)
	column(&to.ElementCount, &from.ElementCount, before.ElementCount)
	floats(&to.Min, &from.Min)
	floats(&to.Max, &from.Max)
	floats(&to.Mean, &from.Mean)
	floats(&to.M2, &from.M2)
	floats(&to.L2, &from.L2)
	floats(&to.L1, &from.L1)
	column(&to.NaNCount, &from.NaNCount, before.NaNCount)
	column(&to.PositiveInfinityCount, &from.PositiveInfinityCount, before.PositiveInfinityCount)
	column(&to.NegativeInfinityCount, &from.NegativeInfinityCount, before.NegativeInfinityCount)
	column(&to.ZeroCount, &from.ZeroCount, before.ZeroCount)
	column(&to.SubnormalCount, &from.SubnormalCount, before.SubnormalCount)
	column(&to.Digest, &from.Digest, before.Digest)
	column(&to.DigestKind, &from.DigestKind, before.DigestKind)
	r.now.tensors = to
	if same {
		r.now.layouts = r.last.layouts
		return
	}
	r.now.layouts = map[uint64]uint64{}
	for _, id := range to.LayoutID {
		r.now.layouts[id]++
	}
}

// column moves a column out of the scratch one, which is then empty. It says whether it equals the one
// before.
func column[T comparable](to, scratch *[]T, before []T) bool {
	from := *scratch
	*scratch = from[:0]
	switch {
	case before != nil && slices.Equal(from, before):
		*to = before
		return true
	case !zero(from):
		*to = copied(from)
	}
	return false
}

// zero says whether a column has no other value, and so can be nil.
func zero[T comparable](column []T) bool {
	var none T
	return !slices.ContainsFunc(column, func(v T) bool { return v != none })
}

// floats moves a column of floats. NaN is unlike itself, and -0 is no zero, so they are not compared.
func floats(to, scratch *[]float64) {
	from := *scratch
	*scratch = from[:0]
	if slices.ContainsFunc(from, func(v float64) bool { return math.Float64bits(v) != 0 }) {
		*to = copied(from)
	}
}

func copied[T any](from []T) []T { return append(make([]T, 0, len(from)), from...) }
