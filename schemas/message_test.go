package schemas

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/klauspost/compress/s2"
)

// rebuild is the message with only columns [from, to) of its rows.
func rebuild(t *testing.T, m Message, record arrow.RecordBatch, from, to int) Message {
	t.Helper()
	schema := arrow.NewSchema(record.Schema().Fields()[from:to], nil)
	part := array.NewRecordBatch(schema, record.Columns()[from:to], record.NumRows())
	var b bytes.Buffer
	if err := writeStream(&b, schema, part); err != nil {
		t.Fatal(err)
	}
	m.Data = s2.Encode(nil, b.Bytes())
	m.Header.CRC = checksum(m.Data)
	return m
}

func sampleMessage(t *testing.T) Message {
	t.Helper()
	id := Identity{RunID: RunID("bad"), Rank: 1, Epoch: 2, Batch: 3}
	rows := awkwardRows[StepRow](4)
	identify(rows, id)
	return pack[StepRow](t, rows, id)
}

func TestParseMessageSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for want, spoil := range map[string]func(header map[string][]string, data []byte){
		"checksum":            func(_ map[string][]string, data []byte) { data[len(data)/2] ^= 1 },
		"unknown schema":      func(h map[string][]string, _ []byte) { rename(h, "step", "stop") },
		"knows version 1":     func(h map[string][]string, _ []byte) { h[headerSchema] = []string{"step/9"} },
		"at least 1":          func(h map[string][]string, _ []byte) { h[headerRows] = []string{"0"} },
		"want a number":       func(h map[string][]string, _ []byte) { delete(h, headerRows) },
		"want name/version":   func(h map[string][]string, _ []byte) { delete(h, headerSchema) },
		"unknown encoding":    func(h map[string][]string, _ []byte) { h[headerEncoding] = []string{"json"} },
		"does not fit its id": func(h map[string][]string, _ []byte) { swap(h, headerID, "/1/", "/2/") },
		"want run/rank":       func(h map[string][]string, _ []byte) { h[headerID] = []string{"x"} },
		"want 8 hex digits":   func(h map[string][]string, _ []byte) { h[headerCRC] = []string{"no"} },
		"want two times":      func(h map[string][]string, _ []byte) { h[headerTimes] = []string{"soon"} },
		"says tensor":         func(h map[string][]string, _ []byte) { h[headerSchema] = []string{"tensor/1"} },
	} {
		m := sampleMessage(t)
		header := m.NATSHeader()
		spoil(header, m.Data)
		_, err := ParseMessage(strings.Replace(m.Subject(), "stop", "step", 1), header, m.Data, 1)
		var malformed *MalformedError
		if !errors.As(err, &malformed) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error that says %q", err, want)
		}
	}
}

func rename(h map[string][]string, from, to string) {
	swap(h, headerID, from, to)
	swap(h, headerSchema, from, to)
}

func swap(h map[string][]string, name, from, to string) {
	h[name] = []string{strings.Replace(h[name][0], from, to, 1)}
}

func TestRecordRefusesWhatIsNoArrow(t *testing.T) {
	t.Parallel()
	m := sampleMessage(t)
	for name, data := range map[string][]byte{
		"empty": nil, "not s2": []byte("hello"), "not arrow": s2.Encode(nil, []byte("hello, this is no arrow")),
		"huge": {0xff, 0xff, 0xff, 0xff, 0x0f}, "cut": m.Data[:len(m.Data)-5],
	} {
		spoilt := m
		spoilt.Data = data
		var malformed *MalformedError
		if _, err := spoilt.Record(); !errors.As(err, &malformed) {
			t.Errorf("%s: got %v, want a malformed message", name, err)
		}
	}
}

func TestRecordRefusesAnotherCountOfRows(t *testing.T) {
	t.Parallel()
	m := sampleMessage(t)
	m.Header.Rows++
	if _, err := m.Record(); err == nil || !strings.Contains(err.Error(), "header says 5") {
		t.Errorf("got %v", err)
	}
}

func BenchmarkEncode(b *testing.B) {
	builder := NewBuilder[TensorRow]()
	row := TensorRow{RunID: 1, Epoch: 2}
	for b.Loop() {
		for i := range 8192 {
			row.Seq, row.ValueMax = uint64(i), float64(i)*1.37
			builder.Append(&row)
		}
		if _, err := builder.Message(Identity{RunID: 1, Epoch: 2}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*8192/b.Elapsed().Seconds()/1e6, "Mrows/s")
}

func BenchmarkRecord(b *testing.B) {
	builder := NewBuilder[TensorRow]()
	row := TensorRow{RunID: 1, Epoch: 2}
	for i := range 8192 {
		row.Seq, row.ValueMax = uint64(i), float64(i)*1.37
		builder.Append(&row)
	}
	m, err := builder.Message(Identity{RunID: 1, Epoch: 2})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Record(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*8192/b.Elapsed().Seconds()/1e6, "Mrows/s")
}
