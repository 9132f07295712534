package report

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/parquet-go/parquet-go"
)

// inMemory is the same answer as a record.
func inMemory(t *testing.T, stream []byte) arrow.RecordBatch {
	t.Helper()
	reader, err := ipc.NewReader(bytes.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	if !reader.Next() {
		return array.NewRecordBuilder(memory.DefaultAllocator, reader.Schema()).NewRecordBatch()
	}
	record := reader.RecordBatch()
	record.Retain()
	return record
}

func TestRecordsAreWrittenAsStreamsAre(t *testing.T) {
	t.Parallel()
	for _, rows := range []int{0, 7} {
		stream := answer(t, rows)
		record := inMemory(t, stream)
		for _, format := range []Format{Text, JSON, CSV} {
			var got, want bytes.Buffer
			if err := Write(&want, Style{Format: format}, bytes.NewReader(stream)); err != nil {
				t.Fatal(err)
			}
			if err := WriteRecord(&got, Style{Format: format}, record); err != nil {
				t.Fatal(err)
			}
			requireHeld(t, stream, format, want.String())
			if got.String() != want.String() {
				t.Errorf("%d rows as %s:\n%s\nwant\n%s", rows, format, got.String(), want.String())
			}
		}
		want, err := ReadTable(bytes.NewReader(stream))
		if err != nil {
			t.Fatal(err)
		}
		if got := TableOf(record); len(got.Rows) != rows || !reflect.DeepEqual(got.numeric, want.numeric) {
			t.Errorf("TableOf(record of %d rows) = %+v, want %+v", rows, got, want)
		}
	}
}

// requireHeld reads and writes an answer several times that was read once.
func requireHeld(t *testing.T, stream []byte, format Format, want string) {
	t.Helper()
	held, err := Hold(bytes.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		var got bytes.Buffer
		table, err := held.Table()
		if err := errors.Join(err, held.Write(&got, Style{Format: format})); err != nil || got.String() != want {
			t.Errorf("%v, held, as %s:\n%s\nwant\n%s", err, format, got.String(), want)
		}
		if read, err := ReadTable(bytes.NewReader(stream)); err != nil || !reflect.DeepEqual(table.Columns, read.Columns) || len(table.Rows) != len(read.Rows) {
			t.Errorf("%v, held: got %v, want %v", err, table, read)
		}
	}
}

func TestRecordsAreReadBackFromArrowAndParquet(t *testing.T) {
	t.Parallel()
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "op", Type: arrow.BinaryTypes.String},
		{Name: "error", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
		{Name: "shape", Type: arrow.ListOfNonNullable(arrow.PrimitiveTypes.Int64)},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	b.Field(0).(*array.StringBuilder).AppendValues([]string{"a", "b"}, nil)
	b.Field(1).(*array.Float64Builder).AppendValues([]float64{math.Inf(1), 0}, []bool{true, false})
	for range 2 {
		b.Field(2).(*array.ListBuilder).Append(true)
		b.Field(2).(*array.ListBuilder).ValueBuilder().(*array.Int64Builder).AppendValues([]int64{2, 3}, nil)
	}
	record := b.NewRecordBatch()
	var file, columns bytes.Buffer
	if err := WriteRecord(&file, Style{Format: Arrow}, record); err != nil {
		t.Fatal(err)
	}
	if err := WriteRecord(&columns, Style{Format: Parquet}, record); err != nil {
		t.Fatal(err)
	}
	reader, err := ipc.NewFileReader(bytes.NewReader(file.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := reader.RecordBatch(0); err != nil || !array.RecordEqual(got, record) {
		t.Errorf("read back %v (%v), want %v", got, err, record)
	}
	checkParquet(t, columns.Bytes())
}

func checkParquet(t *testing.T, file []byte) {
	t.Helper()
	type row struct {
		Op    string   `parquet:"op"`
		Error *float64 `parquet:"error,optional"`
		Shape []int64  `parquet:"shape,list"`
	}
	got, err := parquet.Read[row](bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	infinite := math.Inf(1)
	want := []row{{"a", &infinite, []int64{2, 3}}, {"b", nil, []int64{2, 3}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("read back %+v, want %+v", got, want)
	}
}
