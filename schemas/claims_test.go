package schemas

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/klauspost/compress/s2"
)

// Go ends a program that asks for more memory than there is, so that one such message would end each consumer again and again.
func TestRecordRefusesLengthsThatAreNotThere(t *testing.T) {
	t.Parallel()
	const rows, name = 1000, "a name that stands in no other place"
	plain, inflated := columnOf(t, name, rows), columnOf(t, name, rows, ipc.WithZstd())
	for want, stream := range map[string][]byte{
		"1342177280 entries": replaced(t, plain, append(length32(len(name)), name...), append(length32(0x50000000), name...)),
		"compressed within":  replaced(t, inflated, length64(rows*8), length64(1<<37)),
	} {
		m := sampleMessage(t)
		m.Data = s2.Encode(nil, stream)
		_, err := m.Record()
		var malformed *MalformedError
		if !errors.As(err, &malformed) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error that says %q", err, want)
		}
	}
}

func columnOf(t *testing.T, name string, rows int, options ...ipc.Option) []byte {
	t.Helper()
	builder := array.NewUint64Builder(memory.DefaultAllocator)
	for range rows {
		builder.Append(7)
	}
	schema := arrow.NewSchema([]arrow.Field{{Name: name, Type: arrow.PrimitiveTypes.Uint64}}, nil)
	var b bytes.Buffer
	w := ipc.NewWriter(&b, append(options, ipc.WithSchema(schema))...)
	if err := errors.Join(w.Write(array.NewRecordBatch(schema, []arrow.Array{builder.NewArray()}, int64(rows))), w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func replaced(t *testing.T, stream, old, by []byte) []byte {
	t.Helper()
	if bytes.Count(stream, old) != 1 {
		t.Fatalf("%x stands %d times", old, bytes.Count(stream, old))
	}
	return bytes.Replace(stream, old, by, 1)
}

func length32(n int) []byte { return binary.LittleEndian.AppendUint32(nil, uint32(n)) } //nolint:gosec // of a test

func length64(n int) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(n)) } //nolint:gosec // of a test
