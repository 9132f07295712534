package merge

import (
	"math"
	"slices"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// Part is a rank's part of a tensor.
type Part struct {
	Rank uint32
	rows.Observation
}

// Whole is the whole tensor of the other run, to compare parts with. NaN where not known.
type Whole struct{ Least, Greatest, RootMeanSquare, Elements float64 }

// WholeOf is the whole of a tensor with that number of elements in its shape.
func WholeOf(o *rows.Observation, shape []int64) Whole {
	w := Whole{Least: math.NaN(), Greatest: math.NaN(), RootMeanSquare: math.NaN(), Elements: 1}
	if o.Has(schemas.MeasuredMin) {
		w.Least = o.Min
	}
	if o.Has(schemas.MeasuredMax) {
		w.Greatest = o.Max
	}
	for _, size := range shape {
		w.Elements *= float64(size)
	}
	if o.Has(schemas.MeasuredL2) && w.Elements > 0 {
		w.RootMeanSquare = o.L2 / math.Sqrt(w.Elements)
	}
	return w
}

// Beyond says whether a part has values beyond the whole, or values that are not finite: no true part of the whole
// does. It allows 1 %, for other rounding.
func (w Whole) Beyond(o *rows.Observation) bool {
	const rounding = 0.01
	return o.NotFinite() > 0 ||
		o.Has(schemas.MeasuredMin) && o.Min < w.Least-rounding*math.Abs(w.Least) ||
		o.Has(schemas.MeasuredMax) && o.Max > w.Greatest+rounding*math.Abs(w.Greatest)
}

// Deviation is the distance of the root mean square of a part from the whole's, relative to it; NaN where not known.
// It proves nothing: parts of one tensor are often much alike, and need not be.
func (w Whole) Deviation(o *rows.Observation) float64 {
	if !o.Has(schemas.MeasuredL2) || o.ElementCount == 0 || !(w.RootMeanSquare > 0) {
		return math.NaN()
	}
	return math.Abs(o.L2/math.Sqrt(float64(o.ElementCount))/w.RootMeanSquare - 1)
}

// Why a part stands out.
const (
	BecauseTwice     = "its part is that of another rank"
	BecauseBeyond    = "its part reaches beyond the whole"
	BecauseLeastLike = "its part is the least like the whole, which is likely and no proof"
)

// twice are the ranks whose part, less than the whole, is to the bit that of a rank before them: one was loaded in the place of
// another.
func (w Whole) twice(parts []Part) (ranks []uint32) {
	for i := range parts {
		again := slices.ContainsFunc(parts[:i], func(before Part) bool {
			return before.Rank != parts[i].Rank && sameRecorded(&before.Observation, &parts[i].Observation)
		})
		if again && parts[i].Has(schemas.MeasuredL2) && parts[i].Min != parts[i].Max && float64(parts[i].ElementCount) < w.Elements {
			ranks = append(ranks, parts[i].Rank)
		}
	}
	return slices.Compact(ranks)
}

// StandOut returns the ranks whose part is another's, or with a part that cannot belong to the whole, or else the rank with the part that is by
// far the least like it, and the reason; none where none stands out. The parts are those of one tensor, by micro
// step, then rank.
func (w Whole) StandOut(parts []Part) (ranks []uint32, why string) {
	if ranks = w.twice(parts); len(ranks) > 0 {
		return ranks, BecauseTwice
	}
	deviations := make([]float64, len(parts))
	for i := range parts {
		deviations[i] = w.Deviation(&parts[i].Observation)
		if w.Beyond(&parts[i].Observation) {
			ranks = append(ranks, parts[i].Rank)
		}
	}
	if len(ranks) > 0 && len(ranks) < len(parts) {
		return slices.Compact(ranks), BecauseBeyond
	}
	const clearly = 3
	if at := furthest(deviations); at != none && clearAbove(deviations, at, clearly) {
		return []uint32{parts[at].Rank}, BecauseLeastLike
	}
	return nil, ""
}

func furthest(values []float64) int {
	at := none
	for i, v := range values {
		if !math.IsNaN(v) && (at == none || v > values[at]) {
			at = i
		}
	}
	return at
}

// clearAbove says whether a value is many times each of the others.
func clearAbove(values []float64, at int, times float64) bool {
	for i, v := range values {
		if i != at && !(values[at] > times*v) {
			return false
		}
	}
	return len(values) > 1
}
