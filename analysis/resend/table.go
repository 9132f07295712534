package resend

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tensortap/tensortap/analysis/internal/column"
)

// Record is the rows as a table.
func Record(rows []Row) arrow.RecordBatch { return column.Record(columns(), rows) }

func columns() []column.Of[Row] {
	all := []column.Of[Row]{
		column.Text("request", func(r *Row) string { return r.Request }),
		column.Text("route", func(r *Row) string { return r.Route }),
		column.PlainInt64s("part", func(r *Row) int64 { return int64(r.Part) }),
		column.Text("verdict", func(r *Row) string { return string(r.Verdict) }),
		column.Int64s("token_index", func(r *Row) *int64 { return r.Token }),
		column.Int64s("character_index", func(r *Row) *int64 { return r.Character }),
		column.Floats("logprob_difference", func(r *Row) (float64, bool) { return known(r.LogprobDifference) }),
	}
	all = append(all, sideColumns("", 0)...)
	all = append(all, sideColumns("other_", 1)...)
	return append(all, column.Text("why", func(r *Row) string { return r.Why }))
}

func known(v *float64) (float64, bool) {
	if v == nil {
		return 0, false
	}
	return *v, true
}

// sideColumns are those of one of two answers.
func sideColumns(prefix string, side int) []column.Of[Row] {
	step := func(r *Row, get func(*Step) int64) *int64 {
		if r.Sides[side].Step == nil {
			return nil
		}
		n := get(r.Sides[side].Step)
		return &n
	}
	return []column.Of[Row]{
		column.Text(prefix+"server", func(r *Row) string { return r.Sides[side].Server }),
		column.Text(prefix+"served_as", func(r *Row) string { return r.Sides[side].Request }),
		column.Text(prefix+"token", func(r *Row) string { return r.Sides[side].Token }),
		column.Floats(prefix+"logprob", func(r *Row) (float64, bool) { return known(r.Sides[side].Logprob) }),
		column.Text(prefix+"run", func(r *Row) string {
			if r.Sides[side].Step == nil {
				return ""
			}
			return r.Sides[side].Step.Run
		}),
		column.Int64s(prefix+"rank", func(r *Row) *int64 { return step(r, func(s *Step) int64 { return s.Rank }) }),
		column.Int64s(prefix+"step", func(r *Row) *int64 { return step(r, func(s *Step) int64 { return s.Step }) }),
	}
}
