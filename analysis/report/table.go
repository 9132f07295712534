package report

import (
	"encoding/json"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// Table is a whole answer in memory, for those that fit a screen.
type Table struct {
	Columns []string
	Rows    [][]Value
	numeric []bool
}

// Value is one value of an answer.
type Value struct {
	Exact  string // loses nothing; empty when null
	JSON   string // the same as JSON
	Null   bool
	Number float64 // NaN where the value is no number
	Time   bool    // a time in UTC nanoseconds
}

// True says whether the value is true, which some columns have as the number 1.
func (v Value) True() bool { return v.Exact == "1" || v.Exact == "true" }

// ReadTable reads an answer whole.
func ReadTable(answer io.Reader) (Table, error) { return readTable(streamed(answer)) }

// TableOf is an answer that is in memory.
func TableOf(record arrow.RecordBatch) Table {
	var t Table
	t.Columns, t.numeric = names(record.Schema()), numeric(record.Schema())
	for i := range int(record.NumRows()) {
		t.Rows = append(t.Rows, readRow(record, i))
	}
	return t
}

func readTable(answer records) (Table, error) {
	var t Table
	schema, err := answer(func(record arrow.RecordBatch) error {
		for i := range int(record.NumRows()) {
			t.Rows = append(t.Rows, readRow(record, i))
		}
		return nil
	})
	if err != nil {
		return Table{}, err
	}
	t.Columns, t.numeric = names(schema), numeric(schema)
	return t, nil
}

// numeric says of each column whether it holds numbers.
func numeric(schema *arrow.Schema) []bool {
	numbers := make([]bool, schema.NumFields())
	for i, f := range schema.Fields() {
		numbers[i] = arrow.IsInteger(f.Type.ID()) || arrow.IsFloating(f.Type.ID())
	}
	return numbers
}

func readRow(record arrow.RecordBatch, i int) []Value {
	row := make([]Value, record.NumCols())
	for c, column := range record.Columns() {
		name := record.ColumnName(c)
		row[c] = Value{
			Exact: exact(name, column, i), JSON: string(appendJSON(nil, name, column, i)),
			Null: isNull(column, i), Number: number(name, column, i), Time: strings.HasSuffix(name, "_time_ns"),
		}
	}
	return row
}

func number(name string, column arrow.Array, i int) float64 {
	if isNull(column, i) || isID(name) {
		return math.NaN()
	}
	switch c := column.(type) {
	case *array.Float64:
		return c.Value(i)
	case *array.Float32:
		return float64(c.Value(i))
	}
	if !arrow.IsInteger(column.DataType().ID()) {
		return math.NaN()
	}
	n, err := strconv.ParseFloat(column.ValueStr(i), 64)
	if err != nil {
		return math.NaN()
	}
	return n
}

// Without is the table without some of its rows.
func (t Table) Without(rows []bool) Table {
	left := t
	left.Rows = nil
	for i, row := range t.Rows {
		if !rows[i] {
			left.Rows = append(left.Rows, row)
		}
	}
	return left
}

// Get is the value of the named column in a row; null when there is no such column.
func (t Table) Get(row int, column string) Value {
	for c, name := range t.Columns {
		if name == column {
			return t.Rows[row][c]
		}
	}
	return Value{Null: true, Number: math.NaN()}
}

// longest is the greatest length of a text for people: one long name must not fill the screen, or every line of a
// table.
const longest = 300

// List are the texts of a list; none where the value is none.
func (v Value) List() []string {
	var texts []string
	if err := json.Unmarshal([]byte(v.JSON), &texts); err != nil {
		return nil
	}
	return texts
}

// Text is the value for reading: six digits of a fraction, seconds of a time, - for null, the beginning of a long text.
func (v Value) Text() string {
	if v.Null {
		return "-"
	}
	if v.Time {
		return time.Unix(0, int64(v.Number)).UTC().Format(time.DateTime)
	}
	if !math.IsNaN(v.Number) && strings.ContainsAny(v.Exact, ".e") {
		return strconv.FormatFloat(v.Number, 'g', 6, 64)
	}
	text := v.Exact
	if utf8.RuneCountInString(text) > longest {
		text = string([]rune(text)[:longest-1]) + "…"
	}
	return Printable(text)
}

// Printable is text with a dot for all that would spoil a line or a terminal.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '·'
	}, text)
}

// WriteText writes the table for people, with the columns of the style.
func (t Table) WriteText(to io.Writer, style Style) error {
	some, err := t.only(style.Columns)
	if err != nil {
		return err
	}
	w := newTextWriter(to, style, some.Columns, some.numeric)
	for _, row := range some.Rows {
		if err := w.add(row); err != nil {
			return err
		}
	}
	return w.end()
}

// only is the table with those columns, all where there are none.
func (t Table) only(columns []string) (Table, error) {
	if len(columns) == 0 {
		return t, nil
	}
	some := Table{Columns: columns, Rows: make([][]Value, len(t.Rows))}
	for _, name := range columns {
		place, err := placeOf(t.Columns, name)
		if err != nil {
			return t, err
		}
		some.numeric = append(some.numeric, t.numeric[place])
		for i, row := range t.Rows {
			some.Rows[i] = append(some.Rows[i], row[place])
		}
	}
	return some, nil
}
