package msprobedump

import (
	"math"

	"github.com/tensortap/tensortap/schemas"
)

// statistics are the four numbers of a tensor; a bit of measured says that one is not null.
type statistics struct {
	measured                uint32
	most, least, mean, norm float64
}

// statistics are what the source reported or, of other sources than msProbe, what msProbe would have.
func (d *Dump) statistics(v *Value) statistics {
	s := statistics{measured: v.Row.Measured, most: v.Row.ValueMax, least: v.Row.ValueMin, mean: v.Row.ValueMean, norm: v.Row.ValueL2}
	if d.Source == msprobeSource {
		return s
	}
	s.mean, s.norm = inDtype(v.Layout.Dtype, s.mean), inDtype(v.Layout.Dtype, s.norm)
	s.spread(&v.Row)
	s.measured &^= unreported(v.Layout, v.Row.ElementCount)
	return s
}

// spread gives the statistics of the finite elements the values that they have with the others among them.
func (s *statistics) spread(row *schemas.TensorRow) {
	positive, negative := row.PositiveInfinityCount > 0, row.NegativeInfinityCount > 0
	switch {
	case row.NaNCount > 0:
		*s = statistics{s.measured, math.NaN(), math.NaN(), math.NaN(), math.NaN()}
		return
	case positive && negative:
		*s = statistics{s.measured, math.Inf(1), math.Inf(-1), math.NaN(), math.Inf(1)}
	case positive:
		s.most, s.mean, s.norm = math.Inf(1), math.Inf(1), math.Inf(1)
	case negative:
		s.least, s.mean, s.norm = math.Inf(-1), math.Inf(-1), math.Inf(1)
	}
	if row.ElementCount == 0 || row.PositiveInfinityCount+row.NegativeInfinityCount < row.ElementCount {
		return
	}
	if !negative {
		s.least = math.Inf(1) // none is finite
	}
	if !positive {
		s.most = math.Inf(-1)
	}
}

// unreported are the statistics that msProbe 26.2 leaves out.
func unreported(layout *schemas.LayoutRow, elements uint64) uint32 {
	const all = schemas.MeasuredMin | schemas.MeasuredMax | schemas.MeasuredMean | schemas.MeasuredL2
	kind := familyOf(layout.Dtype)
	switch {
	case elements == 0 || kind == narrow:
		return all
	case kind == booleans:
		return schemas.MeasuredMean | schemas.MeasuredL2
	case len(layout.Shape) == 0 && kind != complexes:
		return 0
	case kind == integers || kind == doubles:
		return schemas.MeasuredMean | schemas.MeasuredL2
	case kind == complexes:
		return schemas.MeasuredL2
	}
	return 0
}

// member is one of the four numbers as it stands in the file.
func (s *statistics) member(bit uint32, v float64, layout *schemas.LayoutRow) *node {
	if s.measured&bit == 0 {
		return token("null")
	}
	extreme := bit == schemas.MeasuredMin || bit == schemas.MeasuredMax
	switch familyOf(layout.Dtype) {
	case booleans:
		return token(truth(v))
	case integers:
		if extreme || len(layout.Shape) == 0 {
			return token(whole(v))
		}
	case floats, doubles, complexes, narrow:
	}
	return token(float(v))
}
