package overflow

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tensortap/tensortap/analysis/internal/column"
	"github.com/tensortap/tensortap/schemas"
)

// OriginTable are the origins as Arrow columns.
func (a *Answer) OriginTable() arrow.RecordBatch { return column.Record(originColumns(), a.Origins) }

// RankTable are the counts of each rank as Arrow columns.
func (a *Answer) RankTable() arrow.RecordBatch { return column.Record(rankColumns(), a.Ranks) }

func originColumns() []column.Of[Origin] {
	return slices.Concat([]column.Of[Origin]{
		column.Uint32s("rank", func(o *Origin) uint32 { return o.Rank }),
		column.PlainInt64s("step", func(o *Origin) int64 { return int64(o.Step) }),
		column.Uint64s("position", func(o *Origin) uint64 { return o.Seq }),
		column.Text("op", func(o *Origin) string { return o.Op }),
		column.Text("module", func(o *Origin) string { return o.Module }),
		column.Text("role", func(o *Origin) string { return o.Role }),
		column.Text("path", func(o *Origin) string { return o.Path }),
		column.Text("kind", func(o *Origin) string { return string(o.Kind) }),
		column.Text("parameter", func(o *Origin) string { return o.Parameter }),
		column.Text("dtype", func(o *Origin) string { return o.Layout.Dtype }),
		column.Sizes("shape", func(o *Origin) []int64 { return o.Layout.Shape }),
		column.Text("literal", func(o *Origin) string { return o.Layout.Literal }),
	}, statisticColumns(), []column.Of[Origin]{
		column.Uint64s("not_finite_count", func(o *Origin) uint64 { return o.NotFinite }),
		column.Uint64s("concurrent", func(o *Origin) uint64 { return uint64(o.Concurrent) }), //nolint:gosec // a count
		column.Text("user_frame", func(o *Origin) string { return o.UserFrame }),
	})
}

// statisticColumns are null where nothing was measured.
func statisticColumns() []column.Of[Origin] {
	number := func(name string, bit uint32, get func(*Origin) float64) column.Of[Origin] {
		return column.Floats(name, func(o *Origin) (float64, bool) { return get(o), o.Has(bit) })
	}
	count := func(name string, bit uint32, get func(*Origin) uint64) column.Of[Origin] {
		return column.Numbers64(name, func(o *Origin) (uint64, bool) { return get(o), o.Has(bit) })
	}
	return []column.Of[Origin]{
		number("value_min", schemas.MeasuredMin, func(o *Origin) float64 { return o.Min }),
		number("value_max", schemas.MeasuredMax, func(o *Origin) float64 { return o.Max }),
		number("value_mean", schemas.MeasuredMean, func(o *Origin) float64 { return o.Mean }),
		number("value_l2", schemas.MeasuredL2, func(o *Origin) float64 { return o.L2 }),
		count("nan_count", schemas.MeasuredNaN, func(o *Origin) uint64 { return o.NaNCount }),
		count("positive_infinity_count", schemas.MeasuredPositiveInfinity, func(o *Origin) uint64 { return o.PositiveInfinityCount }),
		count("negative_infinity_count", schemas.MeasuredNegativeInfinity, func(o *Origin) uint64 { return o.NegativeInfinityCount }),
	}
}

func rankColumns() []column.Of[Rank] {
	return []column.Of[Rank]{
		column.Uint32s("rank", func(r *Rank) uint32 { return r.Rank }),
		column.Uint64s("step_count", func(r *Rank) uint64 { return r.Steps }),
		column.Uint64s("row_count", func(r *Rank) uint64 { return r.Rows }),
		column.Uint64s("measured_count", func(r *Rank) uint64 { return r.Measured }),
		column.Uint64s("not_finite_count", func(r *Rank) uint64 { return r.NotFinite }),
		column.Uint64s("exception_count", func(r *Rank) uint64 { return r.Excused }),
	}
}
