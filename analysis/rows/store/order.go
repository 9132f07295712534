package store

import (
	"cmp"
	"slices"

	"github.com/tensortap/tensortap/analysis/rows"
)

// order sorts the rows of places, and keeps its memory from one to the next.
type order struct {
	rows    []int32 // in order
	counts  []int32
	uint64s []uint64
	uint32s []uint32
	uint16s []uint16
	uint8s  []uint8
	floats  []float64
	lists   [][]float32
}

// sort puts rows in order of seq, then site, then micro step.
func (o *order) sort(t *rows.Tensors) {
	n := len(t.SiteID)
	o.rows = slices.Grow(o.rows[:0], n)[:n]
	if !o.count(t.Seq, n) {
		for i := range o.rows {
			o.rows[i] = int32(i) //nolint:gosec // a place has far fewer rows
		}
		slices.SortFunc(o.rows, func(a, b int32) int { return compareRows(t, a, b) })
	} else {
		o.settleTies(t)
	}
	uint64s, floats := columnsOf(t)
	for _, c := range uint64s {
		permute(*c, o.rows, &o.uint64s)
	}
	for _, c := range floats {
		permute(*c, o.rows, &o.floats)
	}
	permute(t.Measured, o.rows, &o.uint32s)
	permute(t.MicroStep, o.rows, &o.uint16s)
	permute(t.DigestKind, o.rows, &o.uint8s)
	permute(t.Sketch, o.rows, &o.lists)
}

// count sorts by seq where its numbers are dense, as a rank counts them; it says whether they are.
func (o *order) count(seq []uint64, n int) bool {
	if len(seq) == 0 {
		return false
	}
	first, last := slices.Min(seq), slices.Max(seq)
	const sparse = 8
	if last-first >= uint64(sparse*n) { //nolint:gosec // a length
		return false
	}
	o.counts = slices.Grow(o.counts[:0], int(last-first)+2)[:last-first+2]
	clear(o.counts)
	for _, v := range seq {
		o.counts[v-first+1]++
	}
	for i := 1; i < len(o.counts); i++ {
		o.counts[i] += o.counts[i-1]
	}
	for i, v := range seq {
		at := &o.counts[v-first]
		o.rows[*at] = int32(i) //nolint:gosec // a place has far fewer rows
		*at++
	}
	return true
}

// settleTies orders rows of the same seq.
func (o *order) settleTies(t *rows.Tensors) {
	for begin := 0; begin < len(o.rows); {
		end := begin + 1
		for end < len(o.rows) && t.Seq[o.rows[end]] == t.Seq[o.rows[begin]] {
			end++
		}
		if end-begin > 1 {
			slices.SortFunc(o.rows[begin:end], func(a, b int32) int { return compareRows(t, a, b) })
		}
		begin = end
	}
}

func compareRows(t *rows.Tensors, a, b int32) int {
	return cmp.Or(compareAt(t.Seq, a, b), compareAt(t.SiteID, a, b), compareAt(t.MicroStep, a, b))
}

func compareAt[T cmp.Ordered](column []T, a, b int32) int {
	if column == nil {
		return 0
	}
	return cmp.Compare(column[a], column[b])
}

// permute moves the values of a column so that row i holds what stood at from[i].
func permute[T any](column []T, from []int32, scratch *[]T) {
	if column == nil {
		return
	}
	*scratch = append((*scratch)[:0], column...)
	for i, f := range from {
		column[i] = (*scratch)[f]
	}
}
