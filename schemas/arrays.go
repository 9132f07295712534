package schemas

import (
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// checkTypes refuses types that no table has and that arrow-go takes memory for before their bytes are looked at. Numbers
// of other widths may be columns that a later table has, and are left out.
func checkTypes(schema *arrow.Schema) error {
	if !schema.IsNativeEndian() {
		return errors.New("numbers are written with their high byte first")
	}
	for _, field := range schema.Fields() {
		if err := checkType(field.Type); err != nil {
			return fmt.Errorf("column %s: %w", field.Name, err)
		}
	}
	return nil
}

func checkType(typ arrow.DataType) error {
	switch t := typ.(type) {
	case *arrow.StringType, *arrow.BinaryType:
		return nil
	case *arrow.ListType:
		return checkType(t.Elem())
	case *arrow.MapType:
		return checkType(t.Elem())
	case *arrow.StructType:
		for _, field := range t.Fields() {
			if err := checkType(field.Type); err != nil {
				return err
			}
		}
		return nil
	}
	if arrow.IsPrimitive(typ.ID()) {
		return nil
	}
	return fmt.Errorf("type %s, which no table has", typ)
}

// checkArrays refuses a record whose rows are not all there, whose values do not lie in their buffers, or that would be too
// large with all columns of the table. Until it has passed, no array may be read: Go and the engine believe offsets.
func (t Table) checkArrays(record arrow.RecordBatch) error {
	rows := record.NumRows()
	if rows > MaxMessageRows || rows > MaxStreamBytes/int64(t.rowBytes()) {
		return fmt.Errorf("%d rows of at least %d bytes, limit %d rows and %d bytes", rows, t.rowBytes(), MaxMessageRows, MaxStreamBytes)
	}
	if name := t.lacksOf(record); name != "" {
		return fmt.Errorf("no column %s: rows are known by it", name)
	}
	for i, column := range record.Columns() {
		at := t.Column(record.ColumnName(i))
		if at < 0 {
			continue // left out
		}
		if int64(column.Len()) != rows {
			return fmt.Errorf("column %s has %d rows of %d", record.ColumnName(i), column.Len(), rows)
		}
		if err := checkArray(column.Data()); err != nil {
			return fmt.Errorf("column %s: %w", record.ColumnName(i), err)
		}
		if err := t.Columns[at].checkNulls(column); err != nil {
			return err
		}
	}
	return nil
}

// rowBytes is the least that a row with all columns takes.
func (t Table) rowBytes() int {
	n := 0
	for _, c := range t.Columns {
		n += max(c.Type.width(), offsetBytes)
	}
	return n
}

// lacksOf is a column by which rows are known that the record lacks: their identity, or the first of their key, which may
// have grown.
func (t Table) lacksOf(record arrow.RecordBatch) string {
	known := t.Key[:1]
	if t.Class == Measurement {
		known = []string{t.Columns[0].Name, t.Columns[1].Name, t.Columns[2].Name, t.Columns[3].Name}
	}
	for _, name := range known {
		if !record.Schema().HasField(name) {
			return name
		}
	}
	return ""
}

func (c Column) checkNulls(column arrow.Array) error {
	if !c.Nullable && column.NullN() > 0 {
		return fmt.Errorf("column %s holds %d nulls, which it may not", c.Name, column.NullN())
	}
	return nil
}

// checkArray refuses an array that claims values beyond its buffers.
func checkArray(data arrow.ArrayData) error {
	buffers := data.Buffers()
	if data.NullN() > 0 && sizeOf(buffers[0]) < (data.Len()+7)/8 {
		return fmt.Errorf("%d nulls of %d rows are marked in %d bytes", data.NullN(), data.Len(), sizeOf(buffers[0]))
	}
	switch t := data.DataType().(type) {
	case *arrow.StringType, *arrow.BinaryType:
		return checkOffsets(data, sizeOf(buffers[2]), MaxTextBytes)
	case *arrow.ListType, *arrow.MapType:
		child := data.Children()[0]
		return errors.Join(checkOffsets(data, child.Len(), MaxListValues), checkElements(child))
	case *arrow.StructType:
		for _, child := range data.Children() {
			if child.Len() != data.Len() {
				return fmt.Errorf("%d values beside %d", child.Len(), data.Len())
			}
			if err := checkElements(child); err != nil {
				return err
			}
		}
		return nil
	case arrow.FixedWidthDataType:
		if sizeOf(buffers[1])/max(t.Bytes(), 1) < data.Len() {
			return fmt.Errorf("%d rows of %d bytes in %d bytes", data.Len(), t.Bytes(), sizeOf(buffers[1]))
		}
		return nil
	default:
		return fmt.Errorf("type %s, which no table has", t)
	}
}

// checkElements is checkArray of what lists and maps hold, of which nothing is null.
func checkElements(data arrow.ArrayData) error {
	if data.NullN() > 0 {
		return fmt.Errorf("%d elements are null, which they may not be", data.NullN())
	}
	return checkArray(data)
}

// checkOffsets refuses offsets that do not ascend, leave their values, or lie further apart than most.
func checkOffsets(data arrow.ArrayData, values, most int) error {
	rows := data.Len()
	if rows == 0 {
		return nil
	}
	buffer := data.Buffers()[1]
	if sizeOf(buffer)/offsetBytes <= rows {
		return fmt.Errorf("offsets of %d rows in %d bytes", rows, sizeOf(buffer))
	}
	offsets := arrow.Int32Traits.CastFromBytes(buffer.Bytes())[:rows+1]
	if offsets[0] < 0 || int(offsets[rows]) > values {
		return fmt.Errorf("values from %d to %d of %d", offsets[0], offsets[rows], values)
	}
	for i, from := range offsets[:rows] {
		if long := int(offsets[i+1]) - int(from); long < 0 || long > most {
			return fmt.Errorf("row %d has the values from %d to %d, at most %d and in order are allowed", i, from, offsets[i+1], most)
		}
	}
	return nil
}

// sizeOf is the length of a buffer, 0 if there is none.
func sizeOf(buffer *memory.Buffer) int {
	if buffer == nil {
		return 0
	}
	return buffer.Len()
}
