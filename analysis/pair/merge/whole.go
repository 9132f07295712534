package merge

import (
	"cmp"
	"math"
	"strings"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// notFinite are the statistics that add up for any parts.
const notFinite = schemas.MeasuredNaN | schemas.MeasuredPositiveInfinity | schemas.MeasuredNegativeInfinity

// whole is a tensor made of parts.
type whole struct {
	schemas.TensorRow
	sort   sort
	shape  []int64 // where the parts are shards
	layout *schemas.LayoutRow
}

func (w *whole) compare(other *whole) int {
	return cmp.Or(cmp.Compare(w.Seq, other.Seq), cmp.Compare(w.SiteID, other.SiteID), cmp.Compare(w.MicroStep, other.MicroStep))
}

// wholeLayout is the layout of the whole tensor; nil where the first part has it.
func (w *whole) wholeLayout() *schemas.LayoutRow {
	if w.layout.Kind != kindTensor {
		return nil
	}
	l := *w.layout
	if len(w.shape) > 0 {
		l.Shape = w.shape
	}
	l.Placement = ""
	if l.Literal == classSharded || l.Literal == classPending { // of tensors that know of other ranks
		l.Literal = ""
	}
	l.LayoutID = schemas.LayoutID(&l)
	if l.LayoutID == w.layout.LayoutID {
		return nil
	}
	return &l
}

// whole makes the whole tensor of the parts.
func (p *parts) whole() whole {
	first := &p.list[0]
	w := whole{sort: p.sort(), layout: p.layouts[0]}
	w.Seq, w.SiteID, w.MicroStep, w.LayoutID, w.ElementCount = first.Seq, first.SiteID, first.MicroStep, first.LayoutID, first.ElementCount
	all := p.measured()
	w.NaNCount, w.PositiveInfinityCount, w.NegativeInfinityCount = p.notFinite()
	switch w.sort {
	case shards:
		s := p.shapes()
		w.shape, w.Measured = s.whole(p.members), all
		p.addShards(&w)
	case copies:
		w.Measured = all
		p.copyFirst(&w)
	case sums:
		w.Measured = all&notFinite | schemas.MergedDifferentValues
		p.addUp(&w, all)
	case argument:
		w.Measured = schemas.MergedFollowsFromRanks
	case pieces:
		w.Measured = all&notFinite | schemas.MergedNoWhole
	case pending:
		w.Measured = schemas.MergedStillAddedUp
	}
	w.forget()
	return w
}

// measured are the statistics that all parts have.
func (p *parts) measured() uint32 {
	all := p.list[0].Measured
	for i := range p.list {
		all &= p.list[i].Measured
	}
	return all
}

func (p *parts) notFinite() (nan, positive, negative uint64) {
	for i := range p.list {
		nan += p.list[i].NaNCount
		positive += p.list[i].PositiveInfinityCount
		negative += p.list[i].NegativeInfinityCount
	}
	return nan, positive, negative
}

// extremes are the least and the greatest value of parts that have elements; NaN where any of all has one.
func (p *parts) extremes() (least, greatest float64) {
	var leastNaN, greatestNaN, any bool
	for i := range p.list {
		part := &p.list[i]
		leastNaN, greatestNaN = leastNaN || math.IsNaN(part.Min), greatestNaN || math.IsNaN(part.Max)
		if part.ElementCount == 0 {
			continue
		}
		if !any {
			least, greatest, any = part.Min, part.Max, true
		}
		least, greatest = min(least, part.Min), max(greatest, part.Max)
	}
	if leastNaN {
		least = math.NaN()
	}
	if greatestNaN {
		greatest = math.NaN()
	}
	return least, greatest
}

// weight is the number of elements behind the mean of a part: the finite ones.
func weight(o *rows.Observation) float64 {
	return float64(o.ElementCount) - float64(o.NotFinite())
}

// addShards merges the statistics of shards exactly: means and m2 by the rule of Chan, Golub and LeVeque. Digests do not
// merge, nor do sketches, which are taken by indices within the part.
func (p *parts) addShards(w *whole) {
	w.ElementCount = 0
	var weights, weighted, squares float64
	for i := range p.list {
		part := &p.list[i]
		w.ElementCount += part.ElementCount
		w.ZeroCount += part.ZeroCount
		w.SubnormalCount += part.SubnormalCount
		w.ValueL1 += part.L1
		squares += part.L2 * part.L2
		if n := weight(part); n > 0 {
			weights += n
			weighted += n * part.Mean
			w.ValueM2 += part.M2
		}
	}
	w.ValueMin, w.ValueMax = p.extremes()
	w.ValueMean, w.ValueL2 = weighted/weights, math.Sqrt(squares)
	for i := range p.list {
		if n := weight(&p.list[i]); n > 0 {
			w.ValueM2 += n * (p.list[i].Mean - w.ValueMean) * (p.list[i].Mean - w.ValueMean)
		}
	}
}

// copyFirst takes the first of equal parts. Its digest is left out if the one beside it differs: sums are taken in
// other orders, so other bits are no fault.
func (p *parts) copyFirst(w *whole) {
	o := &p.list[0]
	w.ValueMin, w.ValueMax = p.extremes()
	w.ValueMean, w.ValueM2, w.ValueL2, w.ValueL1 = o.Mean, o.M2, o.L2, o.L1
	w.NaNCount, w.PositiveInfinityCount, w.NegativeInfinityCount = o.NaNCount, o.PositiveInfinityCount, o.NegativeInfinityCount
	w.ZeroCount, w.SubnormalCount, w.Sketch = o.ZeroCount, o.SubnormalCount, o.Sketch
	if o.Digest == p.digest {
		w.Digest, w.DigestKind = o.Digest, o.DigestKind
	}
}

// addUp adds the values of parts: means where they count, and sketches.
func (p *parts) addUp(w *whole, measured uint32) {
	var mean float64
	for i := range p.list {
		mean += p.list[i].Mean
	}
	if p.meanCounts(mean, measured) {
		w.Measured |= measured & schemas.MeasuredMean
		w.ValueMean = mean
	}
	if p.complete() {
		w.Sketch = p.addSketches()
	}
}

// meanCounts says whether the sum of the means says anything: in float32 or better, and where it is far from each rank's
// own mean. Copies that differ by a fault would else pass for parts.
func (p *parts) meanCounts(sum float64, measured uint32) bool {
	const needed = schemas.MeasuredMean | schemas.MeasuredL2
	if !p.complete() || !p.precise() || measured&needed != needed {
		return false
	}
	var norm float64
	for i := range p.list {
		norm = max(norm, p.list[i].L2)
	}
	for i := range p.list {
		if !(math.Abs(sum-p.list[i].Mean)*math.Sqrt(float64(p.list[0].ElementCount)) > 0.001*norm) {
			return false
		}
	}
	return true
}

func (p *parts) precise() bool {
	for _, l := range p.layouts {
		if l.Dtype != p.layouts[0].Dtype {
			return false
		}
	}
	dtype := strings.ToLower(p.layouts[0].Dtype)
	return strings.Contains(dtype, "float32") || strings.Contains(dtype, "float64") || strings.Contains(dtype, "double")
}

// addSketches adds sketches bucket by bucket; nil if a part has another number of buckets.
func (p *parts) addSketches() []float32 {
	n := len(p.list[0].Sketch)
	totals := make([]float64, n)
	for i := range p.list {
		if len(p.list[i].Sketch) != n {
			return nil
		}
		for bucket, v := range p.list[i].Sketch {
			totals[bucket] += float64(v)
		}
	}
	sketch := make([]float32, n)
	for bucket, v := range totals {
		sketch[bucket] = float32(v)
	}
	return sketch
}

// forget clears the values that were not measured of all parts.
func (w *whole) forget() {
	for _, v := range []struct {
		bit   uint32
		value *float64
	}{
		{schemas.MeasuredMin, &w.ValueMin},
		{schemas.MeasuredMax, &w.ValueMax},
		{schemas.MeasuredMean, &w.ValueMean},
		{schemas.MeasuredM2, &w.ValueM2},
		{schemas.MeasuredL2, &w.ValueL2},
		{schemas.MeasuredL1, &w.ValueL1},
	} {
		if w.Measured&v.bit == 0 {
			*v.value = 0
		}
	}
}
