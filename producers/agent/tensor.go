package agent

import (
	"math"

	"github.com/tensortap/tensortap/schemas"
)

const (
	measuredBits = 1<<16 - 1 // of a tensor record's flags
	literalBits  = schemas.MeasuredMin | schemas.MeasuredMax | schemas.MeasuredMean
)

// tensor translates a record of a tensor with its extensions, and returns how many records those are.
func (t *translator) tensor(position uint64, memory []byte) (uint64, error) {
	var r schemas.SpoolTensor
	r.Load(memory)
	taken := t.taken(position, memory)
	step := t.step()
	if step == nil {
		return taken, nil
	}
	site, _ := at(t.known.sites, r.Site)
	layout, _ := at(t.known.layouts, r.Layout)
	if site == 0 || layout.id == 0 {
		step.lose(1, reasonUndefined)
		return taken, nil
	}
	t.row(step, r.Seq, position, site, layout.id)
	t.tensorRow.Measured, t.tensorRow.ElementCount = r.Flags&measuredBits, layout.elements
	if r.Flags&schemas.SpoolLiteral != 0 {
		t.literal(layout)
	} else if whole, err := t.statistics(&r, position, taken); err != nil {
		return 0, err
	} else if !whole {
		t.counts.Damaged.Add(1)
		step.lose(1, reasonDamaged)
		return taken, nil
	}
	return taken, t.hand(step)
}

// row begins the row of an argument of the call with that seq.
func (t *translator) row(step *openStep, seq uint32, position, site, layout uint64) {
	of, known := step.Calls[seq]
	if !known {
		of.TimeNs = t.TimeNs
	}
	id := t.out.id
	t.tensorRow = schemas.TensorRow{
		RunID: id.RunID, Rank: id.Rank, Epoch: id.Epoch, EventTimeNs: of.TimeNs,
		Step: step.Number, MicroStep: of.Micro, Seq: position, SiteID: site, LayoutID: layout,
	}
}

// hand hands the row over.
func (t *translator) hand(step *openStep) error {
	step.Tensors++
	t.Tensors++
	row := &t.tensorRow
	return measure(t.out, t.out.tensor, &t.out.rows, row, 0)
}

// taken is the number of records of the tensor, with its extensions.
func (t *translator) taken(position uint64, memory []byte) uint64 {
	var r schemas.SpoolTensor
	r.Load(memory)
	taken := 1 + uint64(r.Extra)
	if position%t.from.rows+taken > t.from.rows {
		return 1 // damaged: extensions never leave the segment
	}
	return taken
}

// literal fills in the value of an argument that is a number.
func (t *translator) literal(layout layoutFacts) {
	row := &t.tensorRow
	row.Measured = 0
	if layout.isNumber {
		row.Measured = literalBits
		row.ValueMin, row.ValueMax, row.ValueMean = layout.number, layout.number, layout.number
	}
}

// statistics fills in those of the record and its extensions, and says whether all of these could be read.
func (t *translator) statistics(r *schemas.SpoolTensor, position, taken uint64) (whole bool, err error) {
	row := &t.tensorRow
	row.ValueMin, row.ValueMax = float64(r.ValueMin), float64(r.ValueMax)
	row.ValueMean, row.ValueM2, row.ValueL1, row.ZeroCount = r.ValueMean, r.ValueM2, r.ValueL1, r.ZeroCount
	for i := uint64(1); i < taken; i++ {
		if whole, err := t.extension(position + i); err != nil || !whole {
			return false, err
		}
	}
	onlyMeasured(row)
	return true, nil
}

// onlyMeasured computes the norm, and clears statistics that the record did not measure.
func onlyMeasured(row *schemas.TensorRow) {
	if row.Measured&schemas.MeasuredL2 != 0 {
		notFinite := row.NaNCount + row.PositiveInfinityCount + row.NegativeInfinityCount
		row.ValueL2 = finiteNorm(row.ValueM2, row.ValueMean, row.ElementCount, notFinite)
	}
	clearUnless(row.Measured&schemas.MeasuredMin, &row.ValueMin)
	clearUnless(row.Measured&schemas.MeasuredMax, &row.ValueMax)
	clearUnless(row.Measured&schemas.MeasuredMean, &row.ValueMean)
	clearUnless(row.Measured&schemas.MeasuredM2, &row.ValueM2)
	clearUnless(row.Measured&schemas.MeasuredL1, &row.ValueL1)
	clearUnless(row.Measured&schemas.MeasuredZero, &row.ZeroCount)
}

// extension takes in a record that belongs to the tensor before it, unless it is damaged.
func (t *translator) extension(position uint64) (whole bool, err error) {
	kind, err := t.from.kind(position)
	if err != nil || kind == damaged {
		return false, err
	}
	memory, err := t.from.record(position)
	if err != nil {
		return false, err
	}
	row := &t.tensorRow
	switch kind {
	case schemas.SpoolCountsKind:
		var c schemas.SpoolCounts
		c.Load(memory)
		row.NaNCount, row.PositiveInfinityCount, row.NegativeInfinityCount = c.NaNCount, c.PositiveInfinityCount, c.NegativeInfinityCount
		row.SubnormalCount, row.ValueMin, row.ValueMax = c.SubnormalCount, c.ValueMin, c.ValueMax
	case schemas.SpoolSketchKind:
		var s schemas.SpoolSketch
		s.Load(memory)
		if s.First == 0 || s.First == 8 {
			copy(t.sketch[s.First:], s.Buckets[:])
			row.Sketch = t.sketch[:]
		}
	case schemas.SpoolDigestKind:
		var d schemas.SpoolDigest
		d.Load(memory)
		row.Digest, row.DigestKind = d.Digest, uint8(d.DigestKind) //nolint:gosec // few kinds
	}
	return true, nil
}

// finiteNorm is the root of the sum of squares of elements of that mean.
func finiteNorm(m2, mean float64, elements, notFinite uint64) float64 {
	if notFinite >= elements {
		return 0
	}
	return math.Sqrt(m2 + float64(elements-notFinite)*mean*mean)
}

func clearUnless[T uint64 | float64](measured uint32, value *T) {
	if measured == 0 {
		*value = 0
	}
}
