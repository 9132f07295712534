package answers

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/parquet-go/parquet-go"

	"github.com/tensortap/tensortap/e2e/internal/program"
)

func TestEveryFormatHoldsTheSameRows(t *testing.T) {
	t.Parallel()
	u := program.PublishOnce(t, "B04_eps_mix", "B00_golden_mix")
	for _, args := range [][]string{
		{"compare", "B04_eps_mix", "B00_golden_mix", "--limit", "0"}, // fewer are told beside the answer
		{"report", "divergence", "--problem", "B04_eps_mix", "--bench", "B00_golden_mix"},
		{"query", "SELECT number AS rank, number + 1 AS step, 'é\n\"' || number AS op, if(number = 1, nan, if(number = 2, -inf, 0.1 / number)) AS error FROM numbers(4)"},
	} {
		bytesOf := func(format string) string {
			out := program.Run(t, u.Setting, append(slices.Clone(args), "--output", format)...)
			if out.Status > 1 || out.Stderr != "" || out.Stdout == "" {
				t.Fatalf("%s --output %s: %v", args[0], format, out)
			}
			return out.Stdout
		}
		want := rowsOfCSV(t, bytesOf("csv"))
		if len(want) < 4 {
			t.Fatalf("%s: %d rows", args[0], len(want))
		}
		for format, got := range map[string][]string{
			"json": rowsOfJSON(t, bytesOf("json")), "arrow": rowsOfArrow(t, bytesOf("arrow")), "parquet": rowsOfParquet(t, bytesOf("parquet")),
		} {
			if !slices.Equal(got, want) {
				t.Errorf("%s --output %s: %d rows\n%q, CSV has %d\n%q", args[0], format, len(got), got, len(want), want)
			}
		}
	}
}

// shownColumns are those of a row that are held against other formats.
func shownColumns() []string { return []string{"rank", "step", "op", "error"} }

func shownFloat(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func rowsOfCSV(tb testing.TB, text string) []string {
	tb.Helper()
	lines := program.ParseCSV(tb, text)
	var rows []string
	for _, line := range lines[1:] {
		row := ""
		for _, name := range shownColumns() {
			row += strings.NewReplacer("-Infinity", "-Inf", "Infinity", "+Inf").Replace(line[slices.Index(lines[0], name)]) + "|"
		}
		rows = append(rows, row)
	}
	return rows
}

func rowsOfJSON(tb testing.TB, text string) []string {
	tb.Helper()
	var all struct {
		Rows, Divergence []map[string]any
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&all); err != nil {
		tb.Fatal(err)
	}
	var rows []string
	for _, object := range append(all.Rows, all.Divergence...) {
		row := ""
		for _, name := range shownColumns() {
			if object[name] != nil {
				row += strings.NewReplacer("-Infinity", "-Inf", "Infinity", "+Inf").Replace(fmt.Sprint(object[name]))
			}
			row += "|"
		}
		rows = append(rows, row)
	}
	return rows
}

func rowsOfArrow(tb testing.TB, text string) []string {
	tb.Helper()
	reader, err := ipc.NewFileReader(strings.NewReader(text))
	if err != nil {
		tb.Fatal(err)
	}
	defer reader.Close() //nolint:errcheck // only read
	var rows []string
	for i := range reader.NumRecords() {
		record, err := reader.RecordBatch(i)
		if err != nil {
			tb.Fatal(err)
		}
		for r := range int(record.NumRows()) {
			rows = append(rows, rowOfRecord(record, r))
		}
	}
	return rows
}

func rowOfRecord(record arrow.RecordBatch, r int) string {
	row := ""
	for _, name := range shownColumns() {
		column := record.Column(record.Schema().FieldIndices(name)[0])
		switch c := column.(type) {
		case *array.Float64:
			if !c.IsNull(r) {
				row += shownFloat(c.Value(r))
			}
		case *array.String:
			row += c.Value(r)
		case *array.Binary:
			row += string(c.Value(r))
		default:
			row += column.ValueStr(r)
		}
		row += "|"
	}
	return row
}

func rowsOfParquet(tb testing.TB, text string) []string {
	tb.Helper()
	file, err := parquet.OpenFile(strings.NewReader(text), int64(len(text)))
	if err != nil {
		tb.Fatal(err)
	}
	reader := parquet.NewReader(file)
	defer reader.Close() //nolint:errcheck // only read
	var rows []string
	for {
		object := map[string]any{}
		if err := reader.Read(&object); errors.Is(err, io.EOF) {
			return rows
		} else if err != nil {
			tb.Fatal(err)
		}
		row := ""
		for _, name := range shownColumns() {
			switch v := object[name].(type) {
			case nil:
			case float64:
				row += shownFloat(v)
			case []byte:
				row += string(v)
			default:
				row += fmt.Sprint(v)
			}
			row += "|"
		}
		rows = append(rows, row)
	}
}
