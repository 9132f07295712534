package consumertest

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// Text is a row, as schemas.TensorRow, as text to compare: every value in the order of the columns.
// NaN, infinities, -0 and null are distinct; an empty list is the same as none.
func Text(row any) string {
	v := reflect.Indirect(reflect.ValueOf(row))
	parts := make([]string, v.NumField())
	for i := range parts {
		parts[i] = valueText(v.Field(i))
	}
	return strings.Join(parts, "\t")
}

func valueText(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return "null"
		}
		return valueText(v.Elem())
	case reflect.String:
		return strconv.Quote(v.String())
	case reflect.Float64, reflect.Float32:
		return strconv.FormatFloat(v.Float(), 'g', -1, v.Type().Bits())
	case reflect.Slice:
		parts := make([]string, v.Len())
		for i := range parts {
			parts[i] = valueText(v.Index(i))
		}
		return listText(parts)
	case reflect.Map:
		pairs := make(map[string]string, v.Len())
		for _, key := range v.MapKeys() {
			pairs[key.String()] = v.MapIndex(key).String()
		}
		return mapText(pairs)
	default:
		return fmt.Sprint(v.Interface())
	}
}

func listText(parts []string) string { return "[" + strings.Join(parts, " ") + "]" }

func mapText(pairs map[string]string) string {
	parts := make([]string, 0, len(pairs))
	for _, key := range slices.Sorted(maps.Keys(pairs)) {
		parts = append(parts, strconv.Quote(key)+":"+strconv.Quote(pairs[key]))
	}
	return listText(parts)
}

// RecordTexts is Text of every row of an Arrow record with a table's columns, in its order.
func RecordTexts(record arrow.RecordBatch) []string {
	rows := make([]string, record.NumRows())
	for i := range rows {
		parts := make([]string, record.NumCols())
		for k, column := range record.Columns() {
			parts[k] = elementText(column, i)
		}
		rows[i] = strings.Join(parts, "\t")
	}
	return rows
}

func elementText(column arrow.Array, i int) string {
	if column.IsNull(i) {
		return "null"
	}
	switch c := column.(type) {
	case *array.String:
		return strconv.Quote(c.Value(i))
	case *array.Float64:
		return strconv.FormatFloat(c.Value(i), 'g', -1, 64)
	case *array.Float32:
		return strconv.FormatFloat(float64(c.Value(i)), 'g', -1, 32)
	case *array.Map:
		return mapElementText(c, i)
	case *array.List:
		begin, end := c.ValueOffsets(i)
		parts := make([]string, 0, end-begin)
		for k := begin; k < end; k++ {
			parts = append(parts, elementText(c.ListValues(), int(k)))
		}
		return listText(parts)
	default:
		return column.ValueStr(i)
	}
}

func mapElementText(c *array.Map, i int) string {
	begin, end := c.ValueOffsets(i)
	pairs := make(map[string]string, end-begin)
	for k := int(begin); k < int(end); k++ {
		pairs[c.Keys().ValueStr(k)] = c.Items().ValueStr(k)
	}
	return mapText(pairs)
}
