package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// answer is an Arrow stream with every kind of value that a report holds.
func answer(t *testing.T, rows int) []byte {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "op", Type: arrow.BinaryTypes.String},
		{Name: "site_id", Type: arrow.PrimitiveTypes.Uint64},
		{Name: "element_count", Type: arrow.PrimitiveTypes.Uint64},
		{Name: "error", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
		{Name: "frames", Type: arrow.ListOf(arrow.BinaryTypes.String)},
		{Name: "labels", Type: arrow.MapOf(arrow.BinaryTypes.String, arrow.BinaryTypes.String)},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	errors := []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), math.Nextafter(0.3, 1)}
	for i := range rows {
		appendRow(t, b, i, errors[i%len(errors)])
	}
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(schema))
	if err := w.Write(b.NewRecordBatch()); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func appendRow(t *testing.T, b *array.RecordBuilder, i int, e float64) {
	t.Helper()
	b.Field(0).(*array.StringBuilder).Append([]string{"Functional.linear.0.forward", "evil\n\x1b[31m\"名,"}[i%2])
	b.Field(1).(*array.Uint64Builder).Append(math.MaxUint64 - uint64(i))
	b.Field(2).(*array.Uint64Builder).Append(1 << 63)
	if i%6 == 5 {
		b.Field(3).AppendNull()
	} else {
		b.Field(3).(*array.Float64Builder).Append(e)
	}
	list := b.Field(4).(*array.ListBuilder)
	list.Append(true)
	list.ValueBuilder().(*array.StringBuilder).Append("File \"a.py\"")
	labels := b.Field(5).(*array.MapBuilder)
	labels.Append(true)
	labels.KeyBuilder().(*array.StringBuilder).Append("k")
	labels.ItemBuilder().(*array.StringBuilder).Append("v")
}

func render(t *testing.T, f Format, stream []byte) string {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, Style{Format: f}, bytes.NewReader(stream)); err != nil {
		t.Fatalf("Write(%s): %v", f, err)
	}
	return out.String()
}

func TestATableWithoutRowsSaysWhy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		format Format
		rows   int
		says   bool
	}{{Text, 0, true}, {Text, 1, false}, {CSV, 0, false}, {JSON, 0, false}} {
		var text strings.Builder
		err := Write(&text, Style{Format: c.format, Empty: "nobody measured it"}, bytes.NewReader(answer(t, c.rows)))
		if said := strings.Contains(text.String(), "no rows. There are none where nobody measured it, or where nothing fits what was asked for\n"); err != nil || said != c.says {
			t.Errorf("%s of %d rows: %v, %q", c.format, c.rows, err, text.String())
		}
	}
	var known strings.Builder
	err := Write(&known, Style{Format: Text, Empty: "nobody measured it", Because: func() (string, error) { return "only run a has step 1", nil }}, bytes.NewReader(answer(t, 0)))
	if err != nil || !strings.HasSuffix(known.String(), "\nno rows: only run a has step 1\n") {
		t.Errorf("%v, %q", err, known.String())
	}
}

func TestJSONKeepsEveryValue(t *testing.T) {
	t.Parallel()
	text := render(t, JSON, answer(t, 6))
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var got struct{ Rows []map[string]any }
	if err := decoder.Decode(&got); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	want := []any{"NaN", "Infinity", "-Infinity", json.Number("-0"), json.Number("0.30000000000000004"), nil}
	for i, row := range got.Rows {
		if row["error"] != want[i] {
			t.Errorf("row %d: error = %v, want %v", i, row["error"], want[i])
		}
		if row["element_count"] != json.Number("9223372036854775808") {
			t.Errorf("row %d: element_count = %v", i, row["element_count"])
		}
	}
	if got.Rows[0]["site_id"] != "ffffffffffffffff" || got.Rows[1]["op"] != "evil\n\x1b[31m\"名," {
		t.Errorf("got %v and %q", got.Rows[0]["site_id"], got.Rows[1]["op"])
	}
	if labels, ok := got.Rows[0]["labels"].(map[string]any); !ok || labels["k"] != "v" {
		t.Errorf("labels = %v", got.Rows[0]["labels"])
	}
}

func TestCSVKeepsEveryValue(t *testing.T) {
	t.Parallel()
	lines, err := csv.NewReader(strings.NewReader(render(t, CSV, answer(t, 6)))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"error", "NaN", "Infinity", "-Infinity", "-0", "0.30000000000000004", ""}
	for i, line := range lines {
		if line[3] != want[i] {
			t.Errorf("line %d: error = %q, want %q", i, line[3], want[i])
		}
	}
	if lines[2][0] != "evil\n\x1b[31m\"名," {
		t.Errorf("op = %q", lines[2][0])
	}
}

func TestTextShowsNoControlCharacters(t *testing.T) {
	t.Parallel()
	text := render(t, Text, answer(t, 6))
	if strings.Contains(text, "\x1b") || strings.Count(text, "\n") != 7 {
		t.Errorf("got %q", text)
	}
	if !strings.Contains(text, " 0.3 ") || !strings.Contains(text, " NaN ") {
		t.Errorf("got\n%s", text)
	}
}

func TestTextShowsIDsAsHex(t *testing.T) {
	t.Parallel()
	builder := array.NewUint64Builder(memory.DefaultAllocator)
	builder.Append(0x1e10) // which reads as a power of ten
	column := builder.NewArray()
	for _, name := range []string{"op_id", "prompt_hash", "bench_epoch", "digest"} {
		record := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: name, Type: column.DataType()}}, nil), []arrow.Array{column}, 1)
		if got := readRow(record, 0)[0]; got.Text() != "0000000000001e10" || got.JSON != `"0000000000001e10"` {
			t.Errorf("%s reads %s, in JSON %s", name, got.Text(), got.JSON)
		}
	}
}

func TestEmptyAnswersStillNameTheirColumns(t *testing.T) {
	t.Parallel()
	empty := answer(t, 0)
	if got := render(t, CSV, empty); got != "op,site_id,element_count,error,frames,labels\n" {
		t.Errorf("CSV: %q", got)
	}
	if got := render(t, JSON, empty); got != "{\"rows\":[\n]}\n" {
		t.Errorf("JSON: %q", got)
	}
	if got := render(t, Text, empty); !strings.HasPrefix(got, "op  site_id") {
		t.Errorf("text: %q", got)
	}
}

func TestParseFormatNamesTheChoices(t *testing.T) {
	t.Parallel()
	for _, name := range Formats() {
		if f, err := ParseFormat(name); err != nil || string(f) != name {
			t.Errorf("ParseFormat(%q) = %v, %v", name, f, err)
		}
	}
	if _, err := ParseFormat("xml"); err == nil || !strings.Contains(err.Error(), "parquet") {
		t.Errorf("got %v", err)
	}
}
