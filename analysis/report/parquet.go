package report

import (
	"fmt"
	"io"
	"reflect"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/parquet-go/parquet-go"
)

// rowWriter writes a file row by row.
type rowWriter interface {
	Write(row any) error
	Close() error
}

// writeParquet writes an answer as a Parquet file with the same columns.
func writeParquet(to io.Writer, answer records) error {
	var w rowWriter
	var row reflect.Type
	_, err := answer(func(record arrow.RecordBatch) (err error) {
		if w == nil {
			if row, err = rowType(record.Schema()); err != nil {
				return err
			}
			w = parquet.NewWriter(to, parquet.SchemaOf(reflect.New(row).Interface()))
		}
		return writeParquetRows(w, row, record)
	})
	if err != nil || w == nil {
		return err
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("write answer: %w", err)
	}
	return nil
}

func writeParquetRows(w rowWriter, row reflect.Type, record arrow.RecordBatch) error {
	for i := range int(record.NumRows()) {
		line := reflect.New(row)
		for c, column := range record.Columns() {
			setParquet(line.Elem().Field(c), column, i)
		}
		if err := w.Write(line.Interface()); err != nil {
			return fmt.Errorf("write answer: %w", err)
		}
	}
	return nil
}

// rowType is a struct with a field for each column: the order of fields is that of columns.
func rowType(schema *arrow.Schema) (reflect.Type, error) {
	fields := make([]reflect.StructField, schema.NumFields())
	for i, f := range schema.Fields() {
		value, err := valueType(f.Type)
		if err != nil {
			return nil, fmt.Errorf("write column %s as Parquet: %w", f.Name, err)
		}
		tag := f.Name
		if f.Nullable {
			value, tag = reflect.PointerTo(value), tag+",optional"
		}
		if value.Kind() == reflect.Slice {
			tag += ",list"
		}
		fields[i] = reflect.StructField{Name: fmt.Sprintf("Column%d", i), Type: value, Tag: reflect.StructTag(fmt.Sprintf("parquet:%q", tag))}
	}
	return reflect.StructOf(fields), nil
}

func valueType(t arrow.DataType) (reflect.Type, error) {
	switch t := t.(type) {
	case *arrow.Uint8Type:
		return reflect.TypeFor[uint8](), nil
	case *arrow.Uint16Type:
		return reflect.TypeFor[uint16](), nil
	case *arrow.Uint32Type:
		return reflect.TypeFor[uint32](), nil
	case *arrow.Uint64Type:
		return reflect.TypeFor[uint64](), nil
	case *arrow.Int32Type:
		return reflect.TypeFor[int32](), nil
	case *arrow.Int64Type:
		return reflect.TypeFor[int64](), nil
	case *arrow.Float64Type:
		return reflect.TypeFor[float64](), nil
	case *arrow.BooleanType:
		return reflect.TypeFor[bool](), nil
	case *arrow.StringType:
		return reflect.TypeFor[string](), nil
	case *arrow.ListType:
		element, err := valueType(t.Elem())
		if err != nil {
			return nil, err
		}
		return reflect.SliceOf(element), nil
	}
	return nil, fmt.Errorf("type %s has no place in it", t)
}

// setParquet copies a value; null leaves the pointer nil.
func setParquet(field reflect.Value, column arrow.Array, i int) {
	if isNull(column, i) {
		return
	}
	if field.Kind() == reflect.Pointer {
		field.Set(reflect.New(field.Type().Elem()))
		field = field.Elem()
	}
	switch c := column.(type) {
	case *array.List:
		begin, end := c.ValueOffsets(i)
		values := reflect.MakeSlice(field.Type(), int(end-begin), int(end-begin))
		for k := begin; k < end; k++ {
			setParquet(values.Index(int(k-begin)), c.ListValues(), int(k))
		}
		field.Set(values)
	case *array.String:
		field.SetString(c.Value(i))
	case *array.Boolean:
		field.SetBool(c.Value(i))
	case *array.Float64:
		field.SetFloat(c.Value(i))
	default:
		setInteger(field, column, i)
	}
}

func setInteger(field reflect.Value, column arrow.Array, i int) {
	switch c := column.(type) {
	case *array.Uint8:
		field.SetUint(uint64(c.Value(i)))
	case *array.Uint16:
		field.SetUint(uint64(c.Value(i)))
	case *array.Uint32:
		field.SetUint(uint64(c.Value(i)))
	case *array.Uint64:
		field.SetUint(c.Value(i))
	case *array.Int32:
		field.SetInt(int64(c.Value(i)))
	case *array.Int64:
		field.SetInt(c.Value(i))
	}
}
