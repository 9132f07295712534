package schemas

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// The functions here read one value of a column of an Arrow record whose
// schema was checked before, so the type assertions hold.

func loadUint8(c arrow.Array, i int) uint8     { return c.(*array.Uint8).Value(i) }   //nolint:errcheck // schema checked
func loadUint16(c arrow.Array, i int) uint16   { return c.(*array.Uint16).Value(i) }  //nolint:errcheck // schema checked
func loadUint32(c arrow.Array, i int) uint32   { return c.(*array.Uint32).Value(i) }  //nolint:errcheck // schema checked
func loadUint64(c arrow.Array, i int) uint64   { return c.(*array.Uint64).Value(i) }  //nolint:errcheck // schema checked
func loadInt16(c arrow.Array, i int) int16     { return c.(*array.Int16).Value(i) }   //nolint:errcheck // schema checked
func loadInt32(c arrow.Array, i int) int32     { return c.(*array.Int32).Value(i) }   //nolint:errcheck // schema checked
func loadInt64(c arrow.Array, i int) int64     { return c.(*array.Int64).Value(i) }   //nolint:errcheck // schema checked
func loadFloat64(c arrow.Array, i int) float64 { return c.(*array.Float64).Value(i) } //nolint:errcheck // schema checked
func loadString(c arrow.Array, i int) string   { return c.(*array.String).Value(i) }  //nolint:errcheck // schema checked

func loadNullable[T any](c arrow.Array, i int, load func(arrow.Array, int) T) *T {
	if c.IsNull(i) {
		return nil
	}
	v := load(c, i)
	return &v
}

func loadStrings(c arrow.Array, i int) []string {
	list := c.(*array.List) //nolint:errcheck // schema checked
	return loadList(list, i, loadString)
}

func loadInt64s(c arrow.Array, i int) []int64 {
	list := c.(*array.List) //nolint:errcheck // schema checked
	return loadList(list, i, loadInt64)
}

func loadFloat32s(c arrow.Array, i int) []float32 {
	list := c.(*array.List) //nolint:errcheck // schema checked
	return loadList(list, i, func(v arrow.Array, k int) float32 {
		return v.(*array.Float32).Value(k) //nolint:errcheck // schema checked
	})
}

func loadList[T any](list *array.List, i int, load func(arrow.Array, int) T) []T {
	begin, end := list.ValueOffsets(i)
	if begin == end {
		return nil
	}
	out := make([]T, 0, end-begin)
	for k := begin; k < end; k++ {
		out = append(out, load(list.ListValues(), int(k)))
	}
	return out
}

func loadStringMap(c arrow.Array, i int) map[string]string {
	m := c.(*array.Map) //nolint:errcheck // schema checked
	begin, end := m.ValueOffsets(i)
	if begin == end {
		return nil
	}
	out := make(map[string]string, end-begin)
	for k := begin; k < end; k++ {
		out[loadString(m.Keys(), int(k))] = loadString(m.Items(), int(k))
	}
	return out
}
