package consumertest

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	flatbuffers "github.com/google/flatbuffers/go"
	"github.com/klauspost/compress/s2"

	"github.com/tensortap/tensortap/schemas"
)

// Hostile returns messages of kind, each made of a good one of the producer, by what it claims to hold and does not. They are
// small, their envelope is sound, and a reader that believes them takes memory until it is ended. Each is a batch of its own.
func Hostile(tb testing.TB, kind string, first schemas.Identity) map[string]schemas.Message {
	tb.Helper()
	all := spoiledOf(tb, kind, &first)
	for name, make := range claiming(tb) {
		first.Batch++
		all[name] = make(Batches(tb, kind, first, 1, hostileRows)[0].Message)
	}
	return all
}

// spoiledOf is a message of kind for each way to spoil its batch.
func spoiledOf(tb testing.TB, kind string, first *schemas.Identity) map[string]schemas.Message {
	tb.Helper()
	all := map[string]schemas.Message{}
	for name, spoil := range spoiled() {
		first.Batch++
		m := Batches(tb, kind, *first, 1, hostileRows)[0].Message
		stream := streamOf(tb, m)
		if spoil(batchIn(tb, stream)) {
			all[name] = withData(m, s2.Encode(nil, stream))
		}
	}
	return all
}

const hostileRows = 20

func claiming(tb testing.TB) map[string]func(schemas.Message) schemas.Message {
	tb.Helper()
	without := func(rows int) func(schemas.Message) schemas.Message {
		return func(m schemas.Message) schemas.Message {
			m = withData(m, s2.Encode(nil, encoded(tb, nil, nil, int64(rows))))
			m.Header.Rows = rows
			return m
		}
	}
	holding := func(data []byte) func(schemas.Message) schemas.Message {
		return func(m schemas.Message) schemas.Message { return withData(m, data) }
	}
	return map[string]func(schemas.Message) schemas.Message{
		"20 million rows, no columns": without(20_000_000),
		"a million rows, no columns":  without(1_000_000),
		"no columns":                  without(hostileRows),
		"more rows than any number":   func(m schemas.Message) schemas.Message { m.Header.Rows = math.MaxInt; return m },
		"64 MiB in five bytes":        holding(binary.AppendUvarint(nil, 64<<20)),
		"4 GiB in five bytes":         holding(binary.AppendUvarint(nil, math.MaxUint32)),
		"64 MiB of zeros":             holding(s2.Encode(nil, make([]byte, 64<<20))),
		"a dictionary":                holding(s2.Encode(nil, dictionary(tb))),
		"a field within itself":       holding(s2.Encode(nil, endlessField())),
		"compressed within": func(m schemas.Message) schemas.Message {
			return withData(m, s2.Encode(nil, again(tb, m, ipc.WithZstd())))
		},
	}
}

func streamOf(tb testing.TB, m schemas.Message) []byte {
	tb.Helper()
	stream, err := s2.Decode(nil, m.Data)
	if err != nil {
		tb.Fatalf("decompress a good message: %v", err)
	}
	return stream
}

// spoiled are ways to spoil the batch of a stream where it lies. One says whether the batch has what it spoils.
func spoiled() map[string]func(arrowBatch) bool {
	return map[string]func(arrowBatch) bool{
		"a batch of more rows than its columns": func(b arrowBatch) bool { b.setInt64(b.rows, 1<<40); return true },
		"a column of more rows than its bytes":  func(b arrowBatch) bool { b.setInt64(b.nodes, 1<<40); return true },
		"a column of -1 rows":                   func(b arrowBatch) bool { b.setInt64(b.nodes, -1); return true },
		"more nulls than rows":                  func(b arrowBatch) bool { b.setInt64(b.nodes+8, 1<<40); return true },
		"nulls that nobody counted":             func(b arrowBatch) bool { b.setInt64(b.nodes+8, -1); return true },
		"a buffer of more bytes than the body":  func(b arrowBatch) bool { b.setInt64(b.buffers+24, 1<<40); return true },
		"a buffer behind the body":              func(b arrowBatch) bool { b.setInt64(b.buffers+16, 1<<40); return true },
		"a buffer before the body":              func(b arrowBatch) bool { b.setInt64(b.buffers+16, -8); return true },
		"as many buffers as 4 GiB":              func(b arrowBatch) bool { b.setUint32(b.buffers-4, math.MaxUint32); return true },
		"buffers that are all the whole body": func(b arrowBatch) bool {
			for i := range b.count {
				b.setInt64(b.buffers+16*i, 0)
				b.setInt64(b.buffers+16*i+8, b.body)
			}
			return true
		},
		"a text that ends before it begins": func(b arrowBatch) bool {
			return b.setOffset(func(at, _ int64) (int64, uint32) { return at + 4, math.MaxUint32 })
		},
		"a text behind the body": func(b arrowBatch) bool {
			return b.setOffset(func(at, long int64) (int64, uint32) { return at + long - 4, math.MaxInt32 })
		},
		"texts that are all of the body": func(b arrowBatch) bool {
			return b.setOffset(func(at, _ int64) (int64, uint32) { return at + 4, uint32(min(b.body, math.MaxInt32)) }) //nolint:gosec // bounded
		},
	}
}

// arrowBatch says where the numbers of the batch of an Arrow stream lie.
type arrowBatch struct {
	stream         []byte
	rows           int // the batch's own number of rows
	nodes, buffers int // pairs of numbers: rows and nulls of each array, place and length of each buffer
	count          int // of buffers
	bodyAt         int
	body           int64
	offsets        int // the buffer that has the offsets of a column of texts, -1 where there is none
}

// Slots of the tables RecordBatch and Message in Arrow's format.
const (
	slotHeader, slotBody            = 8, 10
	slotRows, slotNodes, slotBuffer = 4, 6, 8
	prefix                          = 8
)

func batchIn(tb testing.TB, stream []byte) arrowBatch {
	tb.Helper()
	reader, err := ipc.NewReader(bytes.NewReader(stream))
	if err != nil {
		tb.Fatalf("read a good stream: %v", err)
	}
	at := prefix + int(binary.LittleEndian.Uint32(stream[4:])) // behind the message of the schema, which has no body
	metadata := at + prefix
	message := flatbuffers.Table{Bytes: stream, Pos: flatbuffers.UOffsetT(metadata) + flatbuffers.GetUOffsetT(stream[metadata:])} //nolint:gosec // a place in the stream
	var batch flatbuffers.Table
	message.Union(&batch, flatbuffers.UOffsetT(message.Offset(slotHeader)))
	place := func(slot flatbuffers.VOffsetT) flatbuffers.UOffsetT { return flatbuffers.UOffsetT(batch.Offset(slot)) }
	return arrowBatch{
		stream: stream,
		rows:   int(batch.Pos + place(slotRows)), nodes: int(batch.Vector(place(slotNodes))), buffers: int(batch.Vector(place(slotBuffer))),
		count:  batch.VectorLen(place(slotBuffer)),
		bodyAt: metadata + int(binary.LittleEndian.Uint32(stream[at+4:])), body: message.GetInt64Slot(slotBody, 0),
		offsets: offsetsOf(reader.Schema()),
	}
}

// offsetsOf is the number of the buffer with the offsets of the first column of texts.
func offsetsOf(schema *arrow.Schema) int {
	buffer := 0
	for _, f := range schema.Fields() {
		switch {
		case f.Type.ID() == arrow.STRING:
			return buffer + 1
		case arrow.IsNested(f.Type.ID()):
			return -1 // texts behind it are not looked for
		}
		buffer += 2
	}
	return -1
}

func (b arrowBatch) setInt64(at int, value int64) {
	binary.LittleEndian.PutUint64(b.stream[at:], uint64(value)) //nolint:gosec // the same bits
}

func (b arrowBatch) setUint32(at int, value uint32) {
	binary.LittleEndian.PutUint32(b.stream[at:], value)
}

// setOffset sets one offset of the first column of texts: where is told the place and the length of all of them.
func (b arrowBatch) setOffset(where func(at, long int64) (int64, uint32)) bool {
	if b.offsets < 0 {
		return false
	}
	buffer := b.stream[b.buffers+16*b.offsets:]
	long := int64(binary.LittleEndian.Uint64(buffer[8:])) //nolint:gosec // a length
	at, value := where(int64(b.bodyAt)+int64(binary.LittleEndian.Uint64(buffer)), long)
	b.setUint32(int(at), value)
	return true
}

// again is the stream of a message, written otherwise.
func again(tb testing.TB, m schemas.Message, options ...ipc.Option) []byte {
	tb.Helper()
	record, err := m.Record()
	if err != nil {
		tb.Fatalf("decode a good message: %v", err)
	}
	return encoded(tb, record.Schema().Fields(), record.Columns(), record.NumRows(), options...)
}

// dictionary is a stream with a column whose values are in a dictionary.
func dictionary(tb testing.TB) []byte {
	tb.Helper()
	kind := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}
	builder := array.NewDictionaryBuilder(memory.DefaultAllocator, kind)
	for range hostileRows {
		builder.AppendNull()
	}
	return encoded(tb, []arrow.Field{{Name: "phase", Type: kind, Nullable: true}}, []arrow.Array{builder.NewArray()}, hostileRows)
}

func encoded(tb testing.TB, fields []arrow.Field, columns []arrow.Array, rows int64, options ...ipc.Option) []byte {
	tb.Helper()
	schema := arrow.NewSchema(fields, nil)
	var b bytes.Buffer
	w := ipc.NewWriter(&b, append(options, ipc.WithSchema(schema))...)
	if err := w.Write(array.NewRecordBatch(schema, columns, rows)); err != nil {
		tb.Fatalf("encode a hostile message: %v", err)
	}
	if err := w.Close(); err != nil {
		tb.Fatalf("encode a hostile message: %v", err)
	}
	return b.Bytes()
}

// endlessField is a stream of a schema whose one field is its own child, with 60 MiB of metadata behind it: as deep as that is
// long, were each level allowed the few bytes that it takes.
func endlessField() []byte {
	const fieldSlots, childrenSlot, schemaSlots, fieldsSlot, headerSlot, typeSlot, messageSlots = 7, 5, 4, 1, 2, 1, 5
	b := flatbuffers.NewBuilder(1024)
	field := func(children flatbuffers.UOffsetT) flatbuffers.UOffsetT {
		b.StartObject(fieldSlots)
		b.PrependUOffsetTSlot(childrenSlot, children, 0)
		return b.EndObject()
	}
	vector := func(of flatbuffers.UOffsetT) flatbuffers.UOffsetT {
		b.StartVector(4, 1, 4)
		b.PrependUOffsetT(of)
		return b.EndVector(1)
	}
	children := vector(field(0))
	self := field(children)
	fields := vector(self)
	b.StartObject(schemaSlots)
	b.PrependUOffsetTSlot(fieldsSlot, fields, 0)
	schema := b.EndObject()
	b.StartObject(messageSlots)
	b.PrependByteSlot(typeSlot, 1, 0)
	b.PrependUOffsetTSlot(headerSlot, schema, 0)
	b.Finish(b.EndObject())
	metadata := b.FinishedBytes()
	// An offset is added modulo 2^32, so that it may lead back.
	entry := len(metadata) - int(children) + 4
	binary.LittleEndian.PutUint32(metadata[entry:], uint32(int64(children)-4-int64(self))) //nolint:gosec // modulo 2^32
	metadata = append(metadata, make([]byte, 60<<20)...)
	stream := binary.LittleEndian.AppendUint32(nil, math.MaxUint32)
	stream = binary.LittleEndian.AppendUint32(stream, uint32(len(metadata))) //nolint:gosec // 60 MiB
	return append(stream, metadata...)
}
