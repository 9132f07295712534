package msprobecompare

import (
	"cmp"
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tensortap/tensortap/analysis/internal/column"
	"github.com/tensortap/tensortap/schemas"
)

// rowsOfBatch is how many rows are Arrow columns at a time.
const rowsOfBatch = 4096

// Records hands on all rows as Arrow columns, batch by batch, at least one of them.
func (j *Job) Records(ctx context.Context, visit func(arrow.RecordBatch) error) error {
	columns, none := j.columns(), true
	batch := make([]Row, 0, rowsOfBatch)
	flush := func() error {
		record := column.Record(columns, batch)
		defer record.Release()
		batch, none = batch[:0], false
		return visit(record)
	}
	err := j.Each(ctx, func(r *Row) error {
		if batch = append(batch, *r); len(batch) == rowsOfBatch {
			return flush()
		}
		return nil
	})
	if err == nil && (none || len(batch) > 0) {
		err = flush()
	}
	return err
}

// OpTable is what msProbe says of each tensor, or other argument, of one op of the problem, as the database would answer.
func (j *Job) OpTable(ctx context.Context, op string) (arrow.RecordBatch, error) {
	var found []Row
	err := j.Each(ctx, func(r *Row) error {
		if r.Op == op {
			found = append(found, *r)
		}
		return nil
	})
	slices.SortStableFunc(found, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Role, b.Role), cmp.Compare(a.Path, b.Path))
	})
	return column.Record(opColumns(), found), err
}

func opColumns() []column.Of[Row] {
	return []column.Of[Row]{
		column.Text("role", func(r *Row) string { return r.Role }),
		column.Text("path", func(r *Row) string { return r.Path }),
		column.Text("msprobe_result", func(r *Row) string { return string(r.Result) }),
		column.Text("msprobe_message", func(r *Row) string {
			if r.Message == noMessage {
				return ""
			}
			return r.Message
		}),
	}
}

// columns are those of all rows.
func (j *Job) columns() []column.Of[Row] {
	return slices.Concat([]column.Of[Row]{
		column.Uint32s("rank", func(r *Row) uint32 { return r.Rank }),
		column.Uint32s("step", func(r *Row) uint32 { return r.Step }),
		column.Uint64s("seq", func(r *Row) uint64 { return r.Seq }),
		column.Text("mode", func(*Row) string { return string(j.Mode) }),
		column.Text("op", func(r *Row) string { return r.Op }),
		column.Text("name", func(r *Row) string { return r.Problem.Name }),
		column.Text("bench_name", func(r *Row) string { return r.Bench.Name }),
		column.Bools("paired", func(r *Row) bool { return r.Paired }),
		column.Text("msprobe_result", func(r *Row) string { return string(r.Result) }),
		column.Text("msprobe_message", func(r *Row) string { return r.Message }),
	}, sideColumns(), numberColumns(), rawColumns(), []column.Of[Row]{
		column.Text("problem_file", func(r *Row) string { return r.Problem.File }),
		column.Text("bench_file", func(r *Row) string { return r.Bench.File }),
		column.Bools("has_stacks", func(*Row) bool { return j.HasStacks }),
		column.Texts("frames", func(r *Row) []string { return r.Frames }),
	})
}

// sideColumns are what is printed of both sides, beside each other.
func sideColumns() (columns []column.Of[Row]) {
	for _, printed := range []struct {
		name string
		of   func(*Side) string
	}{
		{"dtype", func(s *Side) string { return s.Dtype }},
		{"shape", func(s *Side) string { return s.Shape }},
		{"requires_grad", func(s *Side) string { return s.Grad }},
		{"value", func(s *Side) string { return s.Value }},
		{"checksum", func(s *Side) string { return s.Checksum }},
	} {
		columns = append(columns,
			column.Text("problem_"+printed.name, func(r *Row) string { return printed.of(&r.Problem) }),
			column.Text("bench_"+printed.name, func(r *Row) string { return printed.of(&r.Bench) }))
	}
	return columns
}

// numberColumns are statistics and how far they are apart.
func numberColumns() (columns []column.Of[Row]) {
	number := func(name string, get func(*Row) Number) column.Of[Row] {
		return column.Floats(name, func(r *Row) (float64, bool) { n := get(r); return n.Value, n.Known })
	}
	names := [StatisticCount]string{Max: "max", Min: "min", Mean: "mean", Norm: "norm"}
	for s, name := range names {
		columns = append(columns,
			number("problem_"+name, func(r *Row) Number { return r.Problem.Statistics[s] }),
			number("bench_"+name, func(r *Row) Number { return r.Bench.Statistics[s] }))
	}
	for s, name := range names {
		columns = append(columns, number(name+"_difference", func(r *Row) Number { return r.Differences[s] }))
	}
	for s, name := range names {
		columns = append(columns, number(name+"_relative_error", func(r *Row) Number { return r.RelativeErrors[s] }))
	}
	return columns
}

// rawColumns are how far raw tensors are apart, null where they were not compared.
func rawColumns() []column.Of[Row] {
	number := func(name string, get func(*schemas.PayloadErrorRow) *float64) column.Of[Row] {
		return column.Floats(name, func(r *Row) (float64, bool) {
			if r.Raw == nil || get(r.Raw) == nil {
				return 0, false
			}
			return *get(r.Raw), true
		})
	}
	return []column.Of[Row]{
		column.Bools("compared", func(r *Row) bool { return r.Raw != nil }),
		number("cosine", func(e *schemas.PayloadErrorRow) *float64 { return e.Cosine }),
		number("l2_distance", func(e *schemas.PayloadErrorRow) *float64 { return e.L2Distance }),
		number("max_absolute", func(e *schemas.PayloadErrorRow) *float64 { return e.MaxAbsolute }),
		number("max_relative", func(e *schemas.PayloadErrorRow) *float64 { return e.MaxRelative }),
		number("thousandth_ratio", func(e *schemas.PayloadErrorRow) *float64 { return e.ThousandthRatio }),
		number("five_thousandth_ratio", func(e *schemas.PayloadErrorRow) *float64 { return e.FiveThousandthRatio }),
		column.Text("payload_message", func(r *Row) string {
			if r.Raw == nil {
				return ""
			}
			return r.Raw.Message
		}),
	}
}
