package result

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// column is one column of a report over rows of one type.
type column[R any] struct {
	field  arrow.Field
	append func(array.Builder, *R)
}

// record is the rows as Arrow columns.
func record[R any](columns []column[R], rows []R) arrow.RecordBatch {
	fields := make([]arrow.Field, len(columns))
	for i := range columns {
		fields[i] = columns[i].field
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(fields, nil))
	defer b.Release()
	b.Reserve(len(rows))
	for i := range columns {
		into := b.Field(i)
		for r := range rows {
			columns[i].append(into, &rows[r])
		}
	}
	return b.NewRecordBatch()
}

// builder is that of a column whose type the column itself declared.
func builder[B array.Builder](b array.Builder) B {
	return b.(B) //nolint:errcheck // the type of the builder follows from that of the field
}

func text[R any](name string, get func(*R) string) column[R] {
	return column[R]{arrow.Field{Name: name, Type: arrow.BinaryTypes.String}, func(b array.Builder, r *R) {
		builder[*array.StringBuilder](b).Append(get(r))
	}}
}

func uint32s[R any](name string, get func(*R) uint32) column[R] {
	return column[R]{arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Uint32}, func(b array.Builder, r *R) {
		builder[*array.Uint32Builder](b).Append(get(r))
	}}
}

func int32s[R any](name string, get func(*R) int32) column[R] {
	return column[R]{arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Int32}, func(b array.Builder, r *R) {
		builder[*array.Int32Builder](b).Append(get(r))
	}}
}

func plainInt64s[R any](name string, get func(*R) int64) column[R] {
	return column[R]{arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Int64}, func(b array.Builder, r *R) {
		builder[*array.Int64Builder](b).Append(get(r))
	}}
}

func uint16s[R any](name string, get func(*R) uint16) column[R] {
	return column[R]{arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Uint16}, func(b array.Builder, r *R) {
		builder[*array.Uint16Builder](b).Append(get(r))
	}}
}

func uint64s[R any](name string, get func(*R) uint64) column[R] {
	return column[R]{arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Uint64}, func(b array.Builder, r *R) {
		builder[*array.Uint64Builder](b).Append(get(r))
	}}
}

// int64s is null where get gives nil.
func int64s[R any](name string, get func(*R) *int64) column[R] {
	return column[R]{arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Int64, Nullable: true}, func(b array.Builder, r *R) {
		into := builder[*array.Int64Builder](b)
		if v := get(r); v != nil {
			into.Append(*v)
			return
		}
		into.AppendNull()
	}}
}

// numbers64 is null where get says that there is no number.
func numbers64[R any](name string, get func(*R) (n uint64, known bool)) column[R] {
	return column[R]{arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Uint64, Nullable: true}, func(b array.Builder, r *R) {
		into := builder[*array.Uint64Builder](b)
		if n, known := get(r); known {
			into.Append(n)
			return
		}
		into.AppendNull()
	}}
}

// plainFloats is never null.
func plainFloats[R any](name string, get func(*R) float64) column[R] {
	return column[R]{arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Float64}, func(b array.Builder, r *R) {
		builder[*array.Float64Builder](b).Append(get(r))
	}}
}

// floats is null where get says that there is no number; NaN is one.
func floats[R any](name string, get func(*R) (v float64, known bool)) column[R] {
	return column[R]{arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Float64, Nullable: true}, func(b array.Builder, r *R) {
		into := builder[*array.Float64Builder](b)
		if v, known := get(r); known {
			into.Append(v)
			return
		}
		into.AppendNull()
	}}
}

// truths are 0 and 1.
func truths[R any](name string, get func(*R) bool) column[R] {
	return column[R]{arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Uint8}, func(b array.Builder, r *R) {
		v := uint8(0)
		if get(r) {
			v = 1
		}
		builder[*array.Uint8Builder](b).Append(v)
	}}
}

// bools are false and true.
func bools[R any](name string, get func(*R) bool) column[R] {
	return column[R]{arrow.Field{Name: name, Type: arrow.FixedWidthTypes.Boolean}, func(b array.Builder, r *R) {
		builder[*array.BooleanBuilder](b).Append(get(r))
	}}
}

// flags is null where get gives nil.
func flags[R any](name string, get func(*R) *uint8) column[R] {
	return column[R]{arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Uint8, Nullable: true}, func(b array.Builder, r *R) {
		into := builder[*array.Uint8Builder](b)
		if v := get(r); v != nil {
			into.Append(*v)
			return
		}
		into.AppendNull()
	}}
}

// sizes are lists of whole numbers.
func sizes[R any](name string, get func(*R) []int64) column[R] {
	return column[R]{arrow.Field{Name: name, Type: arrow.ListOfNonNullable(arrow.PrimitiveTypes.Int64)}, func(b array.Builder, r *R) {
		into := builder[*array.ListBuilder](b)
		into.Append(true)
		builder[*array.Int64Builder](into.ValueBuilder()).AppendValues(get(r), nil)
	}}
}

// texts are lists of texts.
func texts[R any](name string, get func(*R) []string) column[R] {
	return column[R]{arrow.Field{Name: name, Type: arrow.ListOfNonNullable(arrow.BinaryTypes.String)}, func(b array.Builder, r *R) {
		into := builder[*array.ListBuilder](b)
		into.Append(true)
		builder[*array.StringBuilder](into.ValueBuilder()).AppendValues(get(r), nil)
	}}
}

// of are columns of a part of a row.
func of[R, P any](part func(*R) *P, columns []column[P]) []column[R] {
	lifted := make([]column[R], len(columns))
	for i, c := range columns {
		lifted[i] = column[R]{c.field, func(b array.Builder, r *R) { c.append(b, part(r)) }}
	}
	return lifted
}
