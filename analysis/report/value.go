package report

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tensortap/tensortap/schemas"
)

// isID says whether a column holds hashes, which are shown as 16 hex digits, by its name: a query may give any column any name.
func isID(name string) bool {
	return strings.HasSuffix(name, "_id") || strings.HasSuffix(name, "_hash") || strings.HasSuffix(name, "epoch") || name == "digest"
}

// isNull also knows the column that has no type, since it holds nothing but nulls.
func isNull(column arrow.Array, i int) bool {
	return column.DataType().ID() == arrow.NULL || column.IsNull(i)
}

// exact is a value as text that loses nothing; null is empty.
func exact(name string, column arrow.Array, i int) string {
	if isNull(column, i) {
		return ""
	}
	switch c := column.(type) {
	case *array.Float64:
		return formatFloat(c.Value(i), 64)
	case *array.Float32:
		return formatFloat(float64(c.Value(i)), 32)
	case *array.Uint64:
		if isID(name) {
			return schemas.FormatID(c.Value(i))
		}
	case *array.String:
		return c.Value(i)
	case *array.Binary:
		return string(c.Value(i))
	}
	if nested(column) {
		return string(appendJSON(nil, name, column, i))
	}
	return column.ValueStr(i)
}

func nested(column arrow.Array) bool {
	switch column.(type) {
	case *array.List, *array.Map, *array.Struct:
		return true
	}
	return false
}

// formatFloat is the shortest text that reads back as the same number.
func formatFloat(v float64, bits int) string {
	switch {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 1):
		return "Infinity"
	case math.IsInf(v, -1):
		return "-Infinity"
	}
	return strconv.FormatFloat(v, 'g', -1, bits)
}

// appendJSON appends a value as JSON: ids and non-finite numbers as strings, whole numbers as
// numbers.
func appendJSON(to []byte, name string, column arrow.Array, i int) []byte {
	if isNull(column, i) {
		return append(to, "null"...)
	}
	switch c := column.(type) {
	case *array.List:
		begin, end := c.ValueOffsets(i)
		return appendJSONList(to, name, c.ListValues(), int(begin), int(end))
	case *array.Map:
		return appendJSONMap(to, c, i)
	case *array.Struct:
		return appendJSONStruct(to, c, i)
	case *array.Boolean:
		return strconv.AppendBool(to, c.Value(i))
	}
	text := exact(name, column, i)
	if isJSONNumber(name, column, text) {
		return append(to, text...)
	}
	return appendJSONString(to, text)
}

func isJSONNumber(name string, column arrow.Array, text string) bool {
	switch column.DataType().ID() {
	case arrow.FLOAT32, arrow.FLOAT64:
		return !strings.ContainsAny(text, "NI") // NaN, Infinity
	case arrow.UINT64:
		return !isID(name)
	case arrow.UINT8, arrow.UINT16, arrow.UINT32, arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64:
		return true
	default:
		return false
	}
}

func appendJSONString(to []byte, text string) []byte {
	quoted, err := json.Marshal(text)
	if err != nil { // a string always has a form
		return append(to, `""`...)
	}
	return append(to, quoted...)
}

func appendJSONList(to []byte, name string, values arrow.Array, begin, end int) []byte {
	to = append(to, '[')
	for k := begin; k < end; k++ {
		if k > begin {
			to = append(to, ',')
		}
		to = appendJSON(to, name, values, k)
	}
	return append(to, ']')
}

func appendJSONMap(to []byte, m *array.Map, i int) []byte {
	begin, end := m.ValueOffsets(i)
	to = append(to, '{')
	for k := int(begin); k < int(end); k++ {
		if k > int(begin) {
			to = append(to, ',')
		}
		to = appendJSONString(to, exact("", m.Keys(), k))
		to = append(to, ':')
		to = appendJSON(to, "", m.Items(), k)
	}
	return append(to, '}')
}

func appendJSONStruct(to []byte, s *array.Struct, i int) []byte {
	fields := s.DataType().(*arrow.StructType).Fields() //nolint:errcheck // a struct array has a struct type
	to = append(to, '{')
	for k, f := range fields {
		if k > 0 {
			to = append(to, ',')
		}
		to = appendJSONString(to, f.Name)
		to = append(to, ':')
		to = appendJSON(to, f.Name, s.Field(k), i)
	}
	return append(to, '}')
}
