package parquet

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	pq "github.com/parquet-go/parquet-go"
)

// chunkValues is the number of values handed to a column at once: enough to amortise the call, few
// enough to stay in the cache.
const chunkValues = 512

// columns writes Arrow arrays into the columns of one row group. Its scratch
// memory is kept between files. It is for one goroutine.
type columns struct {
	values []pq.Value
	leaf   int // next leaf column
	to     []*pq.ColumnWriter
}

func newColumns() *columns {
	return &columns{values: make([]pq.Value, 0, chunkValues)}
}

// write appends the rows of record to the row group that to belongs to.
func (c *columns) write(to []*pq.ColumnWriter, record arrow.RecordBatch) error {
	c.to, c.leaf = to, 0
	for i, column := range record.Columns() {
		if err := c.column(column, record.Schema().Field(i)); err != nil {
			return fmt.Errorf("write column %s: %w", record.ColumnName(i), err)
		}
	}
	return nil
}

func (c *columns) column(column arrow.Array, field arrow.Field) error {
	switch a := column.(type) {
	case *array.List:
		return c.list(a.Offsets()[:a.Len()+1], a.ListValues())
	case *array.Map:
		offsets := a.Offsets()[:a.Len()+1]
		if err := c.list(offsets, a.Keys()); err != nil {
			return err
		}
		return c.list(offsets, a.Items())
	}
	fill, err := valuesOf(column)
	if err != nil {
		return err
	}
	if field.Nullable {
		return c.optional(column, fill)
	}
	return c.required(column, fill)
}

// required writes a column without nulls: its values have no levels. A chunk equal to the last one,
// as most are in most columns, is not filled again.
func (c *columns) required(column arrow.Array, fill filler) error {
	var filled []byte
	for first := 0; first < column.Len(); first += chunkValues {
		c.values = c.values[:min(chunkValues, column.Len()-first)]
		chunk := fixedBytes(column, first, len(c.values))
		if chunk == nil || !bytes.Equal(chunk, filled) {
			fill(c.values, first)
		}
		filled = chunk
		if err := c.flush(); err != nil {
			return err
		}
	}
	c.leaf++
	return nil
}

// fixedBytes is the memory of count numbers from first on, nil if the column holds none.
func fixedBytes(column arrow.Array, first, count int) []byte {
	t, ok := column.DataType().(arrow.FixedWidthDataType)
	if !ok {
		return nil
	}
	first += column.Data().Offset()
	return column.Data().Buffers()[1].Bytes()[first*t.Bytes() : (first+count)*t.Bytes()]
}

func (c *columns) optional(column arrow.Array, fill filler) error {
	for first := 0; first < column.Len(); first += chunkValues {
		c.values = c.values[:min(chunkValues, column.Len()-first)]
		fill(c.values, first)
		for i, v := range c.values {
			if column.IsNull(first + i) {
				c.values[i] = pq.NullValue().Level(0, 0, c.leaf)
				continue
			}
			c.values[i] = v.Level(0, 1, c.leaf)
		}
		if err := c.flush(); err != nil {
			return err
		}
	}
	c.leaf++
	return nil
}

// list writes rows of zero or more elements. Only whole rows may be flushed.
func (c *columns) list(offsets []int32, elements arrow.Array) error {
	fill, err := valuesOf(elements)
	if err != nil {
		return err
	}
	c.values = c.values[:0]
	for row := range len(offsets) - 1 {
		c.appendList(fill, int(offsets[row]), int(offsets[row+1]))
		if len(c.values) < chunkValues {
			continue
		}
		if err := c.flush(); err != nil {
			return err
		}
		c.values = c.values[:0]
	}
	err = c.flush()
	c.leaf++
	return err
}

func (c *columns) appendList(fill filler, from, to int) {
	if from == to {
		c.values = append(c.values, pq.NullValue().Level(0, 0, c.leaf))
		return
	}
	start := len(c.values)
	c.values = slices.Grow(c.values, to-from)[:start+to-from]
	row := c.values[start:]
	fill(row, from)
	for i := range row {
		row[i] = row[i].Level(min(i, 1), 1, c.leaf)
	}
}

func (c *columns) flush() error {
	if len(c.values) == 0 {
		return nil
	}
	_, err := c.to[c.leaf].WriteRowValues(c.values)
	return err
}

// filler fills values with those of an array from first on. It fills a chunk at a time, rather than
// one value, and so makes the writer fast.
type filler func(values []pq.Value, first int)

// valuesOf reads a primitive array as Parquet values of the physical type that the schema gives it.
func valuesOf(column arrow.Array) (filler, error) {
	switch a := column.(type) {
	case *array.Uint8:
		return fillInt32(a.Uint8Values()), nil
	case *array.Uint16:
		return fillInt32(a.Uint16Values()), nil
	case *array.Uint32:
		return fillInt32(a.Uint32Values()), nil
	case *array.Int16:
		return fillInt32(a.Int16Values()), nil
	case *array.Int32:
		return fillInt32(a.Int32Values()), nil
	case *array.Uint64:
		return fillInt64(a.Uint64Values()), nil
	case *array.Int64:
		return fillInt64(a.Int64Values()), nil
	case *array.Float32:
		return func(values []pq.Value, first int) {
			for i, v := range a.Float32Values()[first : first+len(values)] {
				values[i] = pq.FloatValue(v)
			}
		}, nil
	case *array.Float64:
		return func(values []pq.Value, first int) {
			for i, v := range a.Float64Values()[first : first+len(values)] {
				values[i] = pq.DoubleValue(v)
			}
		}, nil
	case *array.String:
		return func(values []pq.Value, first int) {
			for i := range values {
				values[i] = pq.ByteArrayValue(bytesOf(a.Value(first + i)))
			}
		}, nil
	}
	return nil, fmt.Errorf("no Parquet values for %s", column.DataType())
}

func fillInt32[N uint8 | uint16 | uint32 | int16 | int32](numbers []N) filler {
	return func(values []pq.Value, first int) {
		for i, v := range numbers[first : first+len(values)] {
			values[i] = pq.Int32Value(int32(v))
		}
	}
}

func fillInt64[N uint64 | int64](numbers []N) filler {
	return func(values []pq.Value, first int) {
		for i, v := range numbers[first : first+len(values)] {
			values[i] = pq.Int64Value(int64(v))
		}
	}
}
