package rows

import (
	"math"

	"github.com/tensortap/tensortap/schemas"
)

// Tensors are the observations of one rank and step, in the rank's own order: by seq, then site. A nil column is zero
// in every row. It may share memory with its source, so only its maker writes to it.
type Tensors struct {
	// Recorded is the number of observations behind these, as of joined parts; 0 where they are as recorded.
	Recorded int

	Seq       []uint64
	SiteID    []uint64
	LayoutID  []uint64
	MicroStep []uint16

	Measured     []uint32
	ElementCount []uint64
	Min, Max     []float64
	Mean, M2     []float64
	L2, L1       []float64

	NaNCount              []uint64
	PositiveInfinityCount []uint64
	NegativeInfinityCount []uint64
	ZeroCount             []uint64
	SubnormalCount        []uint64

	Digest     []uint64
	DigestKind []uint8
	Sketch     [][]float32
}

// Observation is one tensor, or other argument, that an op took or gave.
type Observation struct {
	Seq       uint64
	SiteID    uint64
	LayoutID  uint64
	MicroStep uint16

	Measured     uint32 // bits of schemas.Measured…; from bit 16 on: why a tensor of merged ranks is no whole
	ElementCount uint64
	Min, Max     float64
	Mean, M2     float64
	L2, L1       float64

	NaNCount              uint64
	PositiveInfinityCount uint64
	NegativeInfinityCount uint64
	ZeroCount             uint64
	SubnormalCount        uint64

	Digest     uint64
	DigestKind uint8 // schemas.Digest…
	Sketch     []float32
}

// Observed is the number of recorded observations.
func (t *Tensors) Observed() int {
	if t != nil && t.Recorded > 0 {
		return t.Recorded
	}
	return t.Len()
}

// Len is the number of observations.
func (t *Tensors) Len() int {
	if t == nil {
		return 0
	}
	return len(t.SiteID)
}

// At is the observation in a row.
func (t *Tensors) At(i int) Observation {
	return Observation{
		Seq: at(t.Seq, i), SiteID: t.SiteID[i], LayoutID: at(t.LayoutID, i), MicroStep: at(t.MicroStep, i),
		Measured: at(t.Measured, i), ElementCount: at(t.ElementCount, i),
		Min: at(t.Min, i), Max: at(t.Max, i), Mean: at(t.Mean, i), M2: at(t.M2, i), L2: at(t.L2, i), L1: at(t.L1, i),
		NaNCount: at(t.NaNCount, i), PositiveInfinityCount: at(t.PositiveInfinityCount, i),
		NegativeInfinityCount: at(t.NegativeInfinityCount, i), ZeroCount: at(t.ZeroCount, i),
		SubnormalCount: at(t.SubnormalCount, i), Digest: at(t.Digest, i), DigestKind: at(t.DigestKind, i), Sketch: at(t.Sketch, i),
	}
}

func at[T any](column []T, i int) (v T) {
	if column == nil {
		return v
	}
	return column[i]
}

// Has says whether all of these statistics were measured (bits of schemas.Measured…).
func (o *Observation) Has(statistics uint32) bool { return o.Measured&statistics == statistics }

// NotFinite is the number of elements that are NaN or infinite.
func (o *Observation) NotFinite() uint64 {
	return o.NaNCount + o.PositiveInfinityCount + o.NegativeInfinityCount
}

// Finite says whether counts, extremes and the mean show no NaN and no infinity. The norm does not count: it
// overflows alone, in the tensor's own dtype.
func (o *Observation) Finite() bool {
	return o.NotFinite() == 0 && finite(o.Min) && finite(o.Max) && finite(o.Mean)
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// Add adds an observation.
func (t *Tensors) Add(o Observation) {
	t.Append(&schemas.TensorRow{
		Seq: o.Seq, SiteID: o.SiteID, LayoutID: o.LayoutID, MicroStep: o.MicroStep, Measured: o.Measured, ElementCount: o.ElementCount,
		ValueMin: o.Min, ValueMax: o.Max, ValueMean: o.Mean, ValueM2: o.M2, ValueL2: o.L2, ValueL1: o.L1,
		NaNCount: o.NaNCount, PositiveInfinityCount: o.PositiveInfinityCount, NegativeInfinityCount: o.NegativeInfinityCount,
		ZeroCount: o.ZeroCount, SubnormalCount: o.SubnormalCount, Digest: o.Digest, DigestKind: o.DigestKind, Sketch: o.Sketch,
	})
}

// Append adds a row. Columns that have been zero so far stay nil.
func (t *Tensors) Append(r *schemas.TensorRow) {
	n := len(t.SiteID)
	t.SiteID = append(t.SiteID, r.SiteID)
	room := cap(t.SiteID)
	push(&t.Seq, n, room, r.Seq)
	push(&t.LayoutID, n, room, r.LayoutID)
	push(&t.MicroStep, n, room, r.MicroStep)
	push(&t.Measured, n, room, r.Measured)
	push(&t.ElementCount, n, room, r.ElementCount)
	pushFloat(&t.Min, n, room, r.ValueMin)
	pushFloat(&t.Max, n, room, r.ValueMax)
	pushFloat(&t.Mean, n, room, r.ValueMean)
	pushFloat(&t.M2, n, room, r.ValueM2)
	pushFloat(&t.L2, n, room, r.ValueL2)
	pushFloat(&t.L1, n, room, r.ValueL1)
	push(&t.NaNCount, n, room, r.NaNCount)
	push(&t.PositiveInfinityCount, n, room, r.PositiveInfinityCount)
	push(&t.NegativeInfinityCount, n, room, r.NegativeInfinityCount)
	push(&t.ZeroCount, n, room, r.ZeroCount)
	push(&t.SubnormalCount, n, room, r.SubnormalCount)
	push(&t.Digest, n, room, r.Digest)
	push(&t.DigestKind, n, room, r.DigestKind)
	if t.Sketch != nil || len(r.Sketch) > 0 {
		if t.Sketch == nil {
			t.Sketch = make([][]float32, n)
		}
		t.Sketch = append(t.Sketch, r.Sketch)
	}
}

// push appends a value behind the n of the column, which stays nil as long as all are zero, and then has room for as
// many as another one has.
func push[T comparable](column *[]T, n, room int, v T) {
	var zero T
	if *column == nil {
		if v == zero {
			return
		}
		*column = make([]T, n, room)
	}
	*column = append(*column, v)
}

// pushFloat does so with floats. -0 is not zero: its sign would be lost.
func pushFloat(column *[]float64, n, room int, v float64) {
	if *column == nil {
		if math.Float64bits(v) == 0 {
			return
		}
		*column = make([]float64, n, room)
	}
	*column = append(*column, v)
}
