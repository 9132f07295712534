package store

import (
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tensortap/tensortap/analysis/rows"
)

// window collects the rows of some places from batches in which they stand in any order. Each batch is copied into the
// columns of its places column by column, and can go.
type window struct {
	ranks     map[uint32]int // to the index in number
	firstStep uint32
	number    [][]int32 // by rank and step from the first: index of the place, -1 where it is not wanted
	places    []rows.Place
	tensors   []*rows.Tensors
	expected  []int // rows, by the ends of steps
	have      []int // rows so far

	of, at []int32 // of each row of the batch: its place, and the row of that place that it becomes
}

func newWindow(run *rows.Run, places []rows.Place) *window {
	w := &window{ranks: map[uint32]int{}, firstStep: math.MaxUint32}
	lastStep := uint32(0)
	for _, p := range places {
		w.firstStep, lastStep = min(w.firstStep, p.Step), max(lastStep, p.Step)
	}
	for _, p := range places {
		if _, found := w.ranks[p.Rank]; !found {
			w.ranks[p.Rank] = len(w.number)
			w.number = append(w.number, slices.Repeat([]int32{-1}, int(lastStep-w.firstStep)+1))
		}
		if number := &w.number[w.ranks[p.Rank]][p.Step-w.firstStep]; *number < 0 {
			*number = int32(len(w.places)) //nolint:gosec // far fewer places
			w.places = append(w.places, p)
			w.tensors = append(w.tensors, &rows.Tensors{})
			w.expected = append(w.expected, promised(run, p))
		}
	}
	w.have = make([]int, len(w.places))
	return w
}

// promised is how many rows a step has by its end; 0 without one. It spares columns their growth.
func promised(run *rows.Run, place rows.Place) int {
	const most = 1 << 20 // what a row says is not trusted with more memory than that
	step := run.StepAt(place)
	if step == nil {
		return 0
	}
	return int(min(step.TensorCount, most)) //nolint:gosec // bounded
}

func (w *window) add(record arrow.RecordBatch) error {
	w.locate(uint32Values(record.Column(0)), uint32Values(record.Column(1)))
	w.scatterColumns(record)
	return nil
}

// locate gives every row of a batch its place.
func (w *window) locate(rank, step []uint32) {
	w.of, w.at = slices.Grow(w.of[:0], len(rank))[:len(rank)], slices.Grow(w.at[:0], len(rank))[:len(rank)]
	var lastRank uint32
	var steps []int32 // of that rank
	for i := range rank {
		if steps == nil || rank[i] != lastRank {
			lastRank, steps = rank[i], w.stepsOf(rank[i])
		}
		place := int32(-1)
		if n := int(step[i]) - int(w.firstStep); n >= 0 && n < len(steps) {
			place = steps[n]
		}
		w.of[i] = place
		if place >= 0 {
			w.at[i] = int32(w.have[place]) //nolint:gosec // a place has far fewer rows
			w.have[place]++
		}
	}
}

func (w *window) stepsOf(rank uint32) []int32 {
	if n, found := w.ranks[rank]; found {
		return w.number[n]
	}
	return []int32{}
}

// scatter copies a column of a batch into that column of its places. One that is zero throughout is not made, as most
// are that hold counts of what is not finite.
func scatter[T comparable](w *window, values []T, column func(*rows.Tensors) *[]T) {
	var zero T
	if !slices.ContainsFunc(values, func(v T) bool { return v != zero }) {
		return
	}
	columns := make([][]T, len(w.places))
	for p, t := range w.tensors {
		into := column(t)
		*into = extended(*into, w.have[p], w.expected[p])
		columns[p] = *into
	}
	for i, v := range values {
		if p := w.of[i]; p >= 0 {
			columns[p][w.at[i]] = v
		}
	}
}

// extended is the column with so many rows, new ones zero, and room for the expected ones.
func extended[T any](column []T, length, expected int) []T {
	if column == nil && length > 0 {
		return make([]T, length, max(length, expected))
	}
	return append(column, make([]T, length-len(column))...)
}

// scatterSketches gives rows their part of the batch's sketches, of which one copy is made.
func (w *window) scatterSketches(column arrow.Array) {
	list := column.(*array.List)                                          //nolint:errcheck // the query says so
	all := list.ListValues().(*array.Float32).Float32Values()             //nolint:errcheck // the query says so
	offsets := list.Offsets()[list.Offset() : list.Offset()+list.Len()+1] // one more than rows
	if offsets[0] == offsets[len(offsets)-1] {
		return
	}
	all = slices.Clone(all)
	sketches := make([][]float32, list.Len())
	for i := range sketches {
		if begin, end := offsets[i], offsets[i+1]; begin < end {
			sketches[i] = all[begin:end:end]
		}
	}
	columns := make([][][]float32, len(w.places))
	for p, t := range w.tensors {
		t.Sketch = extended(t.Sketch, w.have[p], w.expected[p])
		columns[p] = t.Sketch
	}
	for i, sketch := range sketches {
		if p := w.of[i]; p >= 0 {
			columns[p][w.at[i]] = sketch
		}
	}
}

// ordered are the places that have rows, each in its rank's order.
func (w *window) ordered() map[rows.Place]*rows.Tensors {
	found := make(map[rows.Place]*rows.Tensors, len(w.places))
	var o order
	for p, t := range w.tensors {
		if w.have[p] > 0 {
			w.fill(p)
			o.sort(t)
			found[w.places[p]] = t
		}
	}
	return found
}

// fill gives columns the zeros of the batches in which they were zero throughout.
func (w *window) fill(p int) {
	t, n := w.tensors[p], w.have[p]
	if t.SiteID == nil {
		t.SiteID = make([]uint64, n)
	}
	uint64s, floats := columnsOf(t)
	for _, c := range uint64s {
		lengthen(c, n)
	}
	for _, c := range floats {
		lengthen(c, n)
	}
	lengthen(&t.Measured, n)
	lengthen(&t.MicroStep, n)
	lengthen(&t.DigestKind, n)
	lengthen(&t.Sketch, n)
}

func lengthen[T any](column *[]T, length int) {
	if *column != nil {
		*column = extended(*column, length, length)
	}
}

// columnsOf are the columns of the two types that most have.
func columnsOf(t *rows.Tensors) (uint64s []*[]uint64, floats []*[]float64) {
	return []*[]uint64{
		&t.Seq, &t.SiteID, &t.LayoutID, &t.ElementCount, &t.NaNCount, &t.PositiveInfinityCount, &t.NegativeInfinityCount,
		&t.ZeroCount, &t.SubnormalCount, &t.Digest,
	}, []*[]float64{&t.Min, &t.Max, &t.Mean, &t.M2, &t.L2, &t.L1}
}
