package schemas

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// column collects the values of one column in Arrow's own memory layout, so
// that a batch of them becomes an Arrow record without copying.
type column struct {
	typ      Type
	nullable bool
	offsets  []byte // int32, for strings and lists
	values   []byte
	inner    *strs    // strings inside a list, keys of a map
	items    *strs    // values of a map
	keys     []string // of the map that is being added
	valid    []byte
	nulls    int
	rows     int
}

// strs is a column of strings: offsets into bytes.
type strs struct {
	offsets []byte
	bytes   []byte
	count   int
}

func newStrs() *strs { return &strs{offsets: zeroOffset()} }

func zeroOffset() []byte { return make([]byte, 4, 64) }

func newColumn(c Column) column {
	col := column{typ: c.Type, nullable: c.Nullable}
	if c.Type.width() == 0 {
		col.offsets = zeroOffset()
	}
	if c.Type == Strings || c.Type == StringMap {
		col.inner = newStrs()
	}
	if c.Type == StringMap {
		col.items = newStrs()
	}
	return col
}

func (s *strs) append(text string) {
	s.bytes = append(s.bytes, validText(text)...)
	s.offsets = appendOffset(s.offsets, len(s.bytes))
	s.count++
}

func (s *strs) reset() {
	s.offsets, s.bytes, s.count = s.offsets[:4], s.bytes[:0], 0
}

func (s *strs) data() arrow.ArrayData {
	return array.NewData(arrow.BinaryTypes.String, s.count, []*memory.Buffer{
		nil, memory.NewBufferBytes(s.offsets), memory.NewBufferBytes(s.bytes),
	}, nil, 0, 0)
}

// validText replaces invalid UTF-8, which Parquet and Arrow readers refuse.
func validText(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// appendOffset adds an Arrow offset. Messages are limited far below its range.
func appendOffset(offsets []byte, n int) []byte {
	return binary.LittleEndian.AppendUint32(offsets, uint32(n)) //nolint:gosec // bounded by MaxMessageBytes
}

func (c *column) uint8(v uint8) { c.values = append(c.values, v); c.present() }
func (c *column) uint16(v uint16) {
	c.values = binary.LittleEndian.AppendUint16(c.values, v)
	c.present()
}

func (c *column) uint32(v uint32) {
	c.values = binary.LittleEndian.AppendUint32(c.values, v)
	c.present()
}

func (c *column) uint64(v uint64) {
	c.values = binary.LittleEndian.AppendUint64(c.values, v)
	c.present()
}
func (c *column) int16(v int16)     { c.uint16(uint16(v)) }
func (c *column) int32(v int32)     { c.uint32(uint32(v)) }
func (c *column) int64(v int64)     { c.uint64(uint64(v)) }
func (c *column) float64(v float64) { c.uint64(math.Float64bits(v)) }

func (c *column) string(v string) {
	c.values = append(c.values, validText(v)...)
	c.offsets = appendOffset(c.offsets, len(c.values))
	c.present()
}

func (c *column) strings(v []string) {
	for _, s := range v {
		c.inner.append(s)
	}
	c.offsets = appendOffset(c.offsets, c.inner.count)
	c.present()
}

func (c *column) int64s(v []int64) {
	for _, n := range v {
		c.values = binary.LittleEndian.AppendUint64(c.values, uint64(n))
	}
	c.offsets = appendOffset(c.offsets, len(c.values)/8)
	c.present()
}

func (c *column) float32s(v []float32) {
	for _, f := range v {
		c.values = binary.LittleEndian.AppendUint32(c.values, math.Float32bits(f))
	}
	c.offsets = appendOffset(c.offsets, len(c.values)/4)
	c.present()
}

// stringMap appends the pairs in the order of their keys, so that equal maps make equal bytes.
func (c *column) stringMap(v map[string]string) {
	c.keys = c.keys[:0]
	for key := range v {
		c.keys = append(c.keys, key)
	}
	slices.Sort(c.keys)
	for _, key := range c.keys {
		c.inner.append(key)
		c.items.append(v[key])
	}
	c.offsets = appendOffset(c.offsets, c.inner.count)
	c.present()
}

// null appends a null; only columns of fixed width may be nullable.
func (c *column) null() {
	c.values = append(c.values, make([]byte, c.typ.width())...)
	c.grow()
	c.nulls++
	c.rows++
}

func (c *column) present() {
	if c.nullable {
		c.grow()
		bitutil.SetBit(c.valid, c.rows)
	}
	c.rows++
}

// grow makes room for the next row in the bitmap of valid rows.
func (c *column) grow() {
	if c.rows%8 == 0 {
		c.valid = append(c.valid, 0)
	}
}

func (c *column) bytes() int {
	n := len(c.values) + len(c.offsets)
	for _, s := range []*strs{c.inner, c.items} {
		if s != nil {
			n += len(s.bytes) + len(s.offsets)
		}
	}
	return n
}

func (c *column) reset() {
	c.values, c.valid, c.nulls, c.rows = c.values[:0], c.valid[:0], 0, 0
	if c.offsets != nil {
		c.offsets = c.offsets[:4]
	}
	for _, s := range []*strs{c.inner, c.items} {
		if s != nil {
			s.reset()
		}
	}
}

// array is the column as an Arrow array over the same memory.
func (c *column) array() arrow.Array {
	var valid *memory.Buffer
	if c.nulls > 0 {
		valid = memory.NewBufferBytes(c.valid)
	}
	buffers := []*memory.Buffer{valid}
	var children []arrow.ArrayData
	if c.offsets != nil {
		buffers = append(buffers, memory.NewBufferBytes(c.offsets))
	}
	switch c.typ {
	case Strings:
		children = []arrow.ArrayData{c.inner.data()}
	case StringMap:
		children = []arrow.ArrayData{c.pairs()}
	case Int64s, Float32s:
		children = []arrow.ArrayData{c.elements()}
	case Uint8, Uint16, Uint32, Uint64, Int16, Int32, Int64, Float64, String:
		buffers = append(buffers, memory.NewBufferBytes(c.values))
	}
	return array.MakeFromData(array.NewData(c.typ.arrow(), c.rows, buffers, children, c.nulls, 0))
}

func (c *column) elements() arrow.ArrayData {
	element, width := arrow.PrimitiveTypes.Int64, 8
	if c.typ == Float32s {
		element, width = arrow.PrimitiveTypes.Float32, 4
	}
	return array.NewData(element, len(c.values)/width, []*memory.Buffer{nil, memory.NewBufferBytes(c.values)}, nil, 0, 0)
}

func (c *column) pairs() arrow.ArrayData {
	pair := stringMapType().Elem()
	return array.NewData(pair, c.inner.count, []*memory.Buffer{nil}, []arrow.ArrayData{c.inner.data(), c.items.data()}, 0, 0)
}
