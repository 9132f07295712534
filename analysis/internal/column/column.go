// Package column makes Arrow columns of rows: each column is declared once, by its name and how it is got of a row.
package column

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Of is one column of a report over rows of one type.
type Of[R any] struct {
	Field  arrow.Field
	append func(array.Builder, *R)
}

// Record is the rows as Arrow columns.
func Record[R any](columns []Of[R], rows []R) arrow.RecordBatch {
	fields := make([]arrow.Field, len(columns))
	for i := range columns {
		fields[i] = columns[i].Field
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

// Text is a column of texts.
func Text[R any](name string, get func(*R) string) Of[R] {
	return Of[R]{arrow.Field{Name: name, Type: arrow.BinaryTypes.String}, func(b array.Builder, r *R) {
		builder[*array.StringBuilder](b).Append(get(r))
	}}
}

// Words is a column of texts that come again and again: each stands once, and rows have its number.
func Words[R any](name string, get func(*R) string) Of[R] {
	numbered := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint32, ValueType: arrow.BinaryTypes.String}
	return Of[R]{arrow.Field{Name: name, Type: numbered}, func(b array.Builder, r *R) {
		_ = builder[*array.BinaryDictionaryBuilder](b).AppendString(get(r)) // to memory
	}}
}

// Uint32s is a column of such numbers.
func Uint32s[R any](name string, get func(*R) uint32) Of[R] {
	return Of[R]{arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Uint32}, func(b array.Builder, r *R) {
		builder[*array.Uint32Builder](b).Append(get(r))
	}}
}

// Int32s is a column of such numbers.
func Int32s[R any](name string, get func(*R) int32) Of[R] {
	return Of[R]{arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Int32}, func(b array.Builder, r *R) {
		builder[*array.Int32Builder](b).Append(get(r))
	}}
}

// PlainInt64s is never null.
func PlainInt64s[R any](name string, get func(*R) int64) Of[R] {
	return Of[R]{arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Int64}, func(b array.Builder, r *R) {
		builder[*array.Int64Builder](b).Append(get(r))
	}}
}

// Uint16s is a column of such numbers.
func Uint16s[R any](name string, get func(*R) uint16) Of[R] {
	return Of[R]{arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Uint16}, func(b array.Builder, r *R) {
		builder[*array.Uint16Builder](b).Append(get(r))
	}}
}

// Uint64s is a column of such numbers.
func Uint64s[R any](name string, get func(*R) uint64) Of[R] {
	return Of[R]{arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Uint64}, func(b array.Builder, r *R) {
		builder[*array.Uint64Builder](b).Append(get(r))
	}}
}

// Int64s is null where get gives nil.
func Int64s[R any](name string, get func(*R) *int64) Of[R] {
	return Of[R]{arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Int64, Nullable: true}, func(b array.Builder, r *R) {
		into := builder[*array.Int64Builder](b)
		if v := get(r); v != nil {
			into.Append(*v)
			return
		}
		into.AppendNull()
	}}
}

// Numbers64 is null where get says that there is no number.
func Numbers64[R any](name string, get func(*R) (n uint64, known bool)) Of[R] {
	return Of[R]{arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Uint64, Nullable: true}, func(b array.Builder, r *R) {
		into := builder[*array.Uint64Builder](b)
		if n, known := get(r); known {
			into.Append(n)
			return
		}
		into.AppendNull()
	}}
}

// PlainFloats is never null.
func PlainFloats[R any](name string, get func(*R) float64) Of[R] {
	return Of[R]{arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Float64}, func(b array.Builder, r *R) {
		builder[*array.Float64Builder](b).Append(get(r))
	}}
}

// Floats is null where get says that there is no number; NaN is one.
func Floats[R any](name string, get func(*R) (v float64, known bool)) Of[R] {
	return Of[R]{arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Float64, Nullable: true}, func(b array.Builder, r *R) {
		into := builder[*array.Float64Builder](b)
		if v, known := get(r); known {
			into.Append(v)
			return
		}
		into.AppendNull()
	}}
}

// Truths are 0 and 1.
func Truths[R any](name string, get func(*R) bool) Of[R] {
	return Of[R]{arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Uint8}, func(b array.Builder, r *R) {
		v := uint8(0)
		if get(r) {
			v = 1
		}
		builder[*array.Uint8Builder](b).Append(v)
	}}
}

// Bools are false and true.
func Bools[R any](name string, get func(*R) bool) Of[R] {
	return Of[R]{arrow.Field{Name: name, Type: arrow.FixedWidthTypes.Boolean}, func(b array.Builder, r *R) {
		builder[*array.BooleanBuilder](b).Append(get(r))
	}}
}

// Flags is null where get gives nil.
func Flags[R any](name string, get func(*R) *uint8) Of[R] {
	return Of[R]{arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Uint8, Nullable: true}, func(b array.Builder, r *R) {
		into := builder[*array.Uint8Builder](b)
		if v := get(r); v != nil {
			into.Append(*v)
			return
		}
		into.AppendNull()
	}}
}

// Sizes are lists of whole numbers.
func Sizes[R any](name string, get func(*R) []int64) Of[R] {
	return Of[R]{arrow.Field{Name: name, Type: arrow.ListOfNonNullable(arrow.PrimitiveTypes.Int64)}, func(b array.Builder, r *R) {
		into := builder[*array.ListBuilder](b)
		into.Append(true)
		builder[*array.Int64Builder](into.ValueBuilder()).AppendValues(get(r), nil)
	}}
}

// Texts are lists of texts.
func Texts[R any](name string, get func(*R) []string) Of[R] {
	return Of[R]{arrow.Field{Name: name, Type: arrow.ListOfNonNullable(arrow.BinaryTypes.String)}, func(b array.Builder, r *R) {
		into := builder[*array.ListBuilder](b)
		into.Append(true)
		builder[*array.StringBuilder](into.ValueBuilder()).AppendValues(get(r), nil)
	}}
}

// Lift are columns of a part of a row.
func Lift[R, P any](part func(*R) *P, columns []Of[P]) []Of[R] {
	lifted := make([]Of[R], len(columns))
	for i, c := range columns {
		lifted[i] = Of[R]{c.Field, func(b array.Builder, r *R) { c.append(b, part(r)) }}
	}
	return lifted
}
