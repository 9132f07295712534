package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// answerOf is an answer of two rows with columns rank, op and error.
func answerOf(t *testing.T) records {
	t.Helper()
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{
		{Name: "rank", Type: arrow.PrimitiveTypes.Uint32}, {Name: "op", Type: arrow.BinaryTypes.String}, {Name: "error", Type: arrow.PrimitiveTypes.Float64},
	}, nil))
	b.Field(0).(*array.Uint32Builder).AppendValues([]uint32{0, 10}, nil)
	b.Field(1).(*array.StringBuilder).AppendValues([]string{"linear", "add"}, nil)
	b.Field(2).(*array.Float64Builder).AppendValues([]float64{0.5, 0.25}, nil)
	record := b.NewRecordBatch()
	return made(func(visit func(arrow.RecordBatch) error) error { return visit(record) })
}

func TestATableIsWrittenInTheColumnsAskedFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		style Style
		want  string
	}{
		"all":      {Style{Format: Text}, "rank  op      error\n   0  linear    0.5\n  10  add      0.25\n"},
		"some":     {Style{Format: Text, Columns: []string{"error", "rank"}}, "error  rank\n  0.5     0\n 0.25    10\n"},
		"vertical": {Style{Format: Text, Columns: []string{"op", "rank"}, Vertical: true}, "row 1\n  op    linear\n  rank  0\nrow 2\n  op    add\n  rank  10\n"},
		"CSV":      {Style{Format: CSV, Columns: []string{"op"}}, "op\nlinear\nadd\n"},
		"JSON":     {Style{Format: JSON, Columns: []string{"rank"}}, "{\"rows\":[\n{\"rank\":0},\n{\"rank\":10}\n]}\n"},
	} {
		var got strings.Builder
		if err := writeRecords(&got, c.style, answerOf(t)); err != nil || got.String() != c.want {
			t.Errorf("%s: %v, got\n%s\nwant\n%s", name, err, got.String(), c.want)
		}
	}
}

func TestAColumnThatIsNotThereIsAnErrorThatNamesThoseThatAre(t *testing.T) {
	t.Parallel()
	const want = `no column is named "opp"; there are: rank, op, error`
	for _, format := range []Format{Text, CSV, JSON} {
		var got strings.Builder
		if err := writeRecords(&got, Style{Format: format, Columns: []string{"opp"}}, answerOf(t)); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", format, err, want)
		}
	}
	table, err := readTable(answerOf(t))
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	if err := table.WriteText(&got, Style{Columns: []string{"opp"}}); err == nil || err.Error() != want {
		t.Errorf("a table: %v, want %s", err, want)
	}
	if err := table.WriteText(&got, Style{Columns: []string{"op"}}); err != nil || got.String() != "op\nlinear\nadd\n" {
		t.Errorf("a table: %v, %q", err, got.String())
	}
}

func TestTextOfALongAnswerIsWrittenAsItComes(t *testing.T) {
	t.Parallel()
	var got bytes.Buffer
	before := 0
	err := WriteRecords(&got, Style{Format: Text}, func(visit func(arrow.RecordBatch) error) error {
		for i := range 5 {
			if before = got.Len(); i > 1 && before == 0 {
				t.Errorf("nothing is written after %d batches", i)
			}
			if err := visit(opsRecord(alignedRows-1, strings.Repeat("m", 2+i))); err != nil {
				return err
			}
		}
		return nil
	})
	lines := strings.Split(strings.TrimSuffix(got.String(), "\n"), "\n")
	if err != nil || len(lines) != 1+5*(alignedRows-1) || lines[0] != "op" || lines[len(lines)-1] != "mmmmmm" {
		t.Errorf("%v, %d lines, from %q to %q", err, len(lines), lines[0], lines[len(lines)-1])
	}
}

// opsRecord has that op in each of its rows.
func opsRecord(rows int, op string) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{{Name: "op", Type: arrow.BinaryTypes.String}}, nil))
	defer b.Release()
	column := b.Field(0).(*array.StringBuilder) //nolint:forcetypeassert // as built
	for range rows {
		column.Append(op)
	}
	return b.NewRecordBatch()
}
