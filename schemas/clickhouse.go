package schemas

// ClickHouse is the column's type in ClickHouse.
func (c Column) ClickHouse() string {
	if c.Nullable {
		return "Nullable(" + c.Type.clickHouse() + ")"
	}
	return c.Type.clickHouse()
}

func (t Type) clickHouse() string {
	switch t {
	case Uint8:
		return "UInt8"
	case Uint16:
		return "UInt16"
	case Uint32:
		return "UInt32"
	case Uint64:
		return "UInt64"
	case Int16:
		return "Int16"
	case Int32:
		return "Int32"
	case Int64:
		return "Int64"
	case Float64:
		return "Float64"
	case String:
		return "String"
	case Strings:
		return "Array(String)"
	case Int64s:
		return "Array(Int64)"
	case Float32s:
		return "Array(Float32)"
	case StringMap:
		return "Map(String, String)"
	}
	return "Nothing"
}
