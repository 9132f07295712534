package schemas

import (
	"github.com/apache/arrow-go/v18/arrow"
)

// ArrowSchema is the table as an Arrow schema: same columns, same order.
func (t Table) ArrowSchema() *arrow.Schema {
	fields := make([]arrow.Field, len(t.Columns))
	for i, c := range t.Columns {
		fields[i] = arrow.Field{Name: c.Name, Type: c.Type.arrow(), Nullable: c.Nullable}
	}
	return arrow.NewSchema(fields, nil)
}

func (t Type) arrow() arrow.DataType {
	switch t {
	case Uint8:
		return arrow.PrimitiveTypes.Uint8
	case Uint16:
		return arrow.PrimitiveTypes.Uint16
	case Uint32:
		return arrow.PrimitiveTypes.Uint32
	case Uint64:
		return arrow.PrimitiveTypes.Uint64
	case Int16:
		return arrow.PrimitiveTypes.Int16
	case Int32:
		return arrow.PrimitiveTypes.Int32
	case Int64:
		return arrow.PrimitiveTypes.Int64
	case Float64:
		return arrow.PrimitiveTypes.Float64
	case String:
		return arrow.BinaryTypes.String
	case Strings:
		return arrow.ListOfNonNullable(arrow.BinaryTypes.String)
	case Int64s:
		return arrow.ListOfNonNullable(arrow.PrimitiveTypes.Int64)
	case Float32s:
		return arrow.ListOfNonNullable(arrow.PrimitiveTypes.Float32)
	case StringMap:
		return stringMapType()
	}
	return arrow.Null
}

func stringMapType() *arrow.MapType {
	m := arrow.MapOf(arrow.BinaryTypes.String, arrow.BinaryTypes.String)
	m.SetItemNullable(false)
	return m
}

// width is the size in bytes of a value of fixed width, 0 for the others.
func (t Type) width() int {
	switch t {
	case Uint8:
		return 1
	case Uint16, Int16:
		return 2
	case Uint32, Int32:
		return 4
	case Uint64, Int64, Float64:
		return 8
	case String, Strings, Int64s, Float32s, StringMap:
		return 0
	}
	return 0
}
