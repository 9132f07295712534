package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tensortap/tensortap/analysis/rows"
)

// Tensors reads places of a run. The database finds a place by reading the numbers of the ranks and steps of the whole
// run, so it is asked for many places at once: half a million rows or more.
func (s *Source) Tensors(ctx context.Context, run *rows.Run, places []rows.Place) (map[rows.Place]*rows.Tensors, error) {
	if len(places) == 0 {
		return map[rows.Place]*rows.Tensors{}, nil
	}
	w := newWindow(run, places)
	if err := s.each(ctx, question(run, places), w.add); err != nil {
		return nil, fmt.Errorf("read tensors of run %s: %w", run.Name, err)
	}
	return w.ordered(), nil
}

// question asks for the tensors of at least those places, in any order.
func question(run *rows.Run, places []rows.Place) string {
	var q strings.Builder
	q.WriteString("SELECT rank, step")
	for _, name := range columnNames(run) {
		q.WriteString(", " + name)
	}
	fmt.Fprintf(&q, " FROM tap_store.tensor WHERE run_id = %d", run.ID)
	ranks, steps := map[uint32]bool{}, map[uint32]bool{}
	for _, p := range places {
		ranks[p.Rank], steps[p.Step] = true, true
	}
	q.WriteString(among("rank", ranks) + among("step", steps))
	if replaced := replacedAmong(run, places); replaced != "" {
		q.WriteString(" AND (rank, step, epoch) NOT IN (" + replaced + ")")
	}
	return q.String()
}

// among is the condition that a column holds one of the numbers.
func among(column string, numbers map[uint32]bool) string {
	sorted := slices.Sorted(maps.Keys(numbers))
	first, last := sorted[0], sorted[len(sorted)-1]
	switch {
	case first == last:
		return fmt.Sprintf(" AND %s = %d", column, first)
	case int(last-first)+1 == len(sorted):
		return fmt.Sprintf(" AND %s BETWEEN %d AND %d", column, first, last)
	default:
		return fmt.Sprintf(" AND %s IN (%s)", column, list(sorted))
	}
}

// replacedAmong are the epochs of the places that others replaced; normally none.
func replacedAmong(run *rows.Run, places []rows.Place) string {
	var list []string
	if len(run.Replaced) == 0 {
		return ""
	}
	for _, p := range places {
		for _, epoch := range run.Replaced[p] {
			list = append(list, fmt.Sprintf("(%d, %d, %d)", p.Rank, p.Step, epoch))
		}
	}
	return strings.Join(list, ", ")
}

// columnNames are those that are read beside rank and step, in the order in which window.add takes them.
func columnNames(run *rows.Run) []string {
	names := []string{
		"micro_step", "seq", "site_id", "layout_id", "measured", "element_count", "value_min", "value_max", "value_mean",
		"value_l2", "nan_count", "positive_infinity_count", "negative_infinity_count", "digest", "digest_kind", "sketch",
	}
	if run.AllStatistics {
		names = append(names, "value_m2", "value_l1", "zero_count", "subnormal_count")
	}
	return names
}

// scatterColumns has the columns of a batch fill those of their places.
func (w *window) scatterColumns(record arrow.RecordBatch) {
	const first = 2 // after rank and step
	column := func(name int) arrow.Array { return record.Column(first + name) }
	scatter(w, uint16Values(column(0)), func(t *rows.Tensors) *[]uint16 { return &t.MicroStep })
	scatter(w, uint64Values(column(1)), func(t *rows.Tensors) *[]uint64 { return &t.Seq })
	scatter(w, uint64Values(column(2)), func(t *rows.Tensors) *[]uint64 { return &t.SiteID })
	scatter(w, uint64Values(column(3)), func(t *rows.Tensors) *[]uint64 { return &t.LayoutID })
	scatter(w, uint32Values(column(4)), func(t *rows.Tensors) *[]uint32 { return &t.Measured })
	scatter(w, uint64Values(column(5)), func(t *rows.Tensors) *[]uint64 { return &t.ElementCount })
	scatter(w, float64Values(column(6)), func(t *rows.Tensors) *[]float64 { return &t.Min })
	scatter(w, float64Values(column(7)), func(t *rows.Tensors) *[]float64 { return &t.Max })
	scatter(w, float64Values(column(8)), func(t *rows.Tensors) *[]float64 { return &t.Mean })
	scatter(w, float64Values(column(9)), func(t *rows.Tensors) *[]float64 { return &t.L2 })
	scatter(w, uint64Values(column(10)), func(t *rows.Tensors) *[]uint64 { return &t.NaNCount })
	scatter(w, uint64Values(column(11)), func(t *rows.Tensors) *[]uint64 { return &t.PositiveInfinityCount })
	scatter(w, uint64Values(column(12)), func(t *rows.Tensors) *[]uint64 { return &t.NegativeInfinityCount })
	scatter(w, uint64Values(column(13)), func(t *rows.Tensors) *[]uint64 { return &t.Digest })
	scatter(w, uint8Values(column(14)), func(t *rows.Tensors) *[]uint8 { return &t.DigestKind })
	w.scatterSketches(column(15))
	if record.NumCols() > first+16 {
		scatter(w, float64Values(column(16)), func(t *rows.Tensors) *[]float64 { return &t.M2 })
		scatter(w, float64Values(column(17)), func(t *rows.Tensors) *[]float64 { return &t.L1 })
		scatter(w, uint64Values(column(18)), func(t *rows.Tensors) *[]uint64 { return &t.ZeroCount })
		scatter(w, uint64Values(column(19)), func(t *rows.Tensors) *[]uint64 { return &t.SubnormalCount })
	}
}
