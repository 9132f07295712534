package consumertest

import (
	"bytes"
	"hash/crc32"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/klauspost/compress/s2"

	"github.com/tensortap/tensortap/schemas"
)

// Malformed returns messages made of a good one. Their headers are sound; only a reader that
// decodes the data finds the fault. Each has a batch number of its own.
func Malformed(tb testing.TB, good schemas.Message) []schemas.Message {
	tb.Helper()
	stream, err := s2.Decode(nil, good.Data)
	if err != nil {
		tb.Fatalf("decompress a good message: %v", err)
	}
	bad := []schemas.Message{
		withData(good, []byte("this was never compressed")),
		withData(good, nil),
		withData(good, s2.Encode(nil, []byte("this was never an Arrow stream"))),
		withData(good, s2.Encode(nil, stream[:len(stream)/2])),
		withData(good, s2.Encode(nil, bytes.Repeat([]byte{0xff}, len(stream)))),
		withData(good, s2.Encode(nil, textColumn(tb, good))),
	}
	miscounted := good
	miscounted.Header.Rows++
	bad = append(bad, miscounted)
	for i := range bad {
		bad[i].Header.Identity.Batch = 1000 + uint64(i)
	}
	if table, _ := schemas.TableByKind(good.Header.Kind); table.Class == schemas.Measurement {
		misnamed := good // its rows are of another batch
		misnamed.Header.Identity.Batch = 2000
		bad = append(bad, misnamed)
	}
	return bad
}

func withData(m schemas.Message, data []byte) schemas.Message {
	m.Data = data
	m.Header.CRC = crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))
	return m
}

// textColumn is the message's stream with text in place of its last column.
func textColumn(tb testing.TB, m schemas.Message) []byte {
	tb.Helper()
	record, err := m.Record()
	if err != nil {
		tb.Fatalf("decode a good message: %v", err)
	}
	last := int(record.NumCols()) - 1
	fields := record.Schema().Fields()
	fields[last].Type = arrow.BinaryTypes.LargeString
	builder := array.NewLargeStringBuilder(memory.DefaultAllocator)
	for range record.NumRows() {
		builder.Append("text")
	}
	columns := append(record.Columns()[:last:last], builder.NewArray())
	var b bytes.Buffer
	w := ipc.NewWriter(&b, ipc.WithSchema(arrow.NewSchema(fields, nil)))
	if err := w.Write(array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, record.NumRows())); err != nil {
		tb.Fatalf("encode a malformed message: %v", err)
	}
	if err := w.Close(); err != nil {
		tb.Fatalf("encode a malformed message: %v", err)
	}
	return b.Bytes()
}
