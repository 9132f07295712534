package parquet

import (
	"math"
	"unsafe"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
	"github.com/parquet-go/parquet-go/format"

	"github.com/tensortap/tensortap/schemas"
)

// form is the layout of files of one kind.
type form struct {
	kind    string
	schema  *pq.Schema
	columns *columns
}

func newForm(table schemas.Table, codec *zstd.Codec) *form {
	return &form{kind: table.Kind(), schema: layout(table, codec), columns: newColumns()}
}

func (f *form) options(cfg Config) []pq.WriterOption {
	options := []pq.WriterOption{
		f.schema, pq.PageBufferSize(cfg.PageBytes), pq.DataPageVersion(2), pq.CreatedBy("tensortap", "1", ""),
	}
	for _, path := range f.schema.Columns() {
		leaf, _ := f.schema.Lookup(path...)
		if kind := leaf.Node.Type().Kind(); kind == pq.Double || kind == pq.Float {
			options = append(options, pq.SkipPageBounds(path...))
		}
	}
	return options
}

// layout is the Parquet schema of a table: its columns, in its order, each in
// the encoding that fits its unit.
func layout(table schemas.Table, codec *zstd.Codec) *pq.Schema {
	group := pq.Group{}
	for _, c := range table.Columns {
		group[c.Name] = node(c, codec)
	}
	byName := map[string]pq.Field{}
	for _, f := range group.Fields() {
		byName[f.Name()] = f
	}
	root := inOrder{Group: group}
	for _, c := range table.Columns {
		root.fields = append(root.fields, byName[c.Name])
	}
	return pq.NewSchema(table.Kind(), root)
}

// inOrder is a group that keeps the order of its columns; pq.Group sorts them by name.
type inOrder struct {
	pq.Group
	fields []pq.Field
}

// Fields implements parquet.Node.
func (g inOrder) Fields() []pq.Field { return g.fields }

func node(c schemas.Column, codec *zstd.Codec) pq.Node { //nolint:ireturn // schemas consist of this interface
	leaf := func(n pq.Node) pq.Node { return pq.Compressed(n, codec) }
	text := func() pq.Node { return leaf(pq.Encoded(pq.String(), &pq.RLEDictionary)) }
	switch c.Type {
	case schemas.Strings:
		return pq.List(text())
	case schemas.StringMap:
		return pq.Map(text(), text())
	case schemas.Int64s:
		return pq.List(leaf(pq.Encoded(pq.Int(64), &pq.DeltaBinaryPacked)))
	case schemas.Float32s:
		return pq.List(leaf(pq.Encoded(pq.Leaf(unbounded{pq.FloatType}), &pq.ByteStreamSplit)))
	case schemas.String:
		return text()
	case schemas.Float64:
		return optional(c, leaf(pq.Encoded(pq.Leaf(unbounded{pq.DoubleType}), &pq.ByteStreamSplit)))
	case schemas.Uint8, schemas.Uint16, schemas.Uint32, schemas.Uint64, schemas.Int16, schemas.Int32, schemas.Int64:
	}
	return optional(c, leaf(integer(c)))
}

func optional(c schemas.Column, n pq.Node) pq.Node { //nolint:ireturn // schemas consist of this interface
	if c.Nullable {
		return pq.Optional(n)
	}
	return n
}

// integer stores names of things as indices into a dictionary, and numbers as differences to the
// last one.
func integer(c schemas.Column) pq.Node { //nolint:ireturn // schemas consist of this interface
	n := integerOf(c.Type)
	if c.Unit == schemas.Hash && c.Name != "digest" {
		return pq.Encoded(n, &pq.RLEDictionary)
	}
	return pq.Encoded(n, &pq.DeltaBinaryPacked)
}

func integerOf(t schemas.Type) pq.Node { //nolint:ireturn // schemas consist of this interface
	switch t {
	case schemas.Uint8:
		return pq.Uint(8)
	case schemas.Uint16:
		return pq.Uint(16)
	case schemas.Uint32:
		return pq.Uint(32)
	case schemas.Int16:
		return pq.Int(16)
	case schemas.Int32:
		return pq.Int(32)
	case schemas.Int64:
		return pq.Int(64)
	case schemas.Uint64, schemas.Float64, schemas.String, schemas.Strings, schemas.Int64s, schemas.Float32s, schemas.StringMap:
	}
	return pq.Uint(64)
}

// unbounded is a floating-point type whose page index promises nothing. A reader that orders NaN
// above all numbers would skip pages by the bounds of the numbers alone, and miss the very rows
// that one looks for here.
type unbounded struct{ pq.Type }

// NewColumnIndexer implements parquet.Type.
func (t unbounded) NewColumnIndexer(int) pq.ColumnIndexer { //nolint:ireturn // implements parquet.Type
	if t.Kind() == pq.Float {
		return &anyFloat{least: pq.FloatValue(float32(math.Inf(-1))).Bytes(), greatest: pq.FloatValue(float32(math.Inf(1))).Bytes()}
	}
	return &anyFloat{least: pq.DoubleValue(math.Inf(-1)).Bytes(), greatest: pq.DoubleValue(math.Inf(1)).Bytes()}
}

// anyFloat is a page index for pages of any values.
type anyFloat struct {
	index           format.ColumnIndex
	least, greatest []byte
}

// Reset implements parquet.ColumnIndexer.
func (a *anyFloat) Reset() { a.index = format.ColumnIndex{} }

// IndexPage implements parquet.ColumnIndexer.
func (a *anyFloat) IndexPage(numValues, numNulls int64, _, _ pq.Value) {
	a.index.NullPages = append(a.index.NullPages, numValues == numNulls)
	a.index.NullCounts = append(a.index.NullCounts, numNulls)
	a.index.MinValues = append(a.index.MinValues, a.least)
	a.index.MaxValues = append(a.index.MaxValues, a.greatest)
}

// ColumnIndex implements parquet.ColumnIndexer.
func (a *anyFloat) ColumnIndex() format.ColumnIndex { return a.index }

// bytesOf is the text as bytes that share its memory and must not be written to.
func bytesOf(text string) []byte { return unsafe.Slice(unsafe.StringData(text), len(text)) }
