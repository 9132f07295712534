// Package report turns the answer of a query, an Arrow stream, into text, JSON or CSV for people
// and programs. Arrow and Parquet come from the database as they are.
package report

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// Format is the format of an answer.
type Format string

// The formats of --output.
const (
	Text    Format = "text"
	JSON    Format = "json"
	CSV     Format = "csv"
	Arrow   Format = "arrow"
	Parquet Format = "parquet"
)

// ArrowStream is Arrow that can be read as it comes. The HTTP API has it in the place of Arrow's file.
const ArrowStream Format = "arrow-stream"

// Formats lists all formats, the default first.
func Formats() []string {
	return []string{string(Text), string(JSON), string(CSV), string(Arrow), string(Parquet)}
}

// Style is the look of an answer.
type Style struct {
	Format   Format
	Color    bool     // only text on a terminal has colours
	Columns  []string // of a table, in this order; all where empty
	Vertical bool     // text of a table has a line for each value, not for each row
	Limit    uint64   // greatest number of rows of a table; 0 for all
	Empty    string   // why a table may have no rows, which text says then
	Program  string   // how a shell calls this program, in the commands that an answer ends with; empty for tensortap
	// Because says why this table has no rows, where that is known: said instead of Empty. It may be nil.
	Because func() (string, error)
}

// Reads is how many rows to ask for: text has one more, since it says whether there is more. It is 0 for all.
func (s Style) Reads() uint64 {
	if s.Format == Text && s.Limit > 0 && s.Limit < math.MaxInt64 {
		return s.Limit + 1
	}
	return s.Limit
}

func (s Style) program() string { return cmp.Or(s.Program, "tensortap") }

// ParseFormat reads the value of --output. Further are values of the command that it reads itself, for the error.
func ParseFormat(text string, further ...string) (Format, error) {
	for _, f := range Formats() {
		if f == text {
			return Format(f), nil
		}
	}
	return "", fmt.Errorf("output %q: want one of %s", text, strings.Join(append(Formats(), further...), ", "))
}

// ClickHouse is the format to ask the database for.
func (f Format) ClickHouse() string {
	switch f {
	case Parquet:
		return "Parquet"
	case Arrow:
		return "Arrow"
	case Text, JSON, CSV, ArrowStream:
	}
	return "ArrowStream"
}

// Write renders the answer of a query that was asked for in s.Format.ClickHouse(). Arrow and Parquet have all columns.
func Write(to io.Writer, s Style, answer io.Reader) error {
	switch s.Format {
	case Arrow, ArrowStream, Parquet:
		_, err := io.Copy(to, answer)
		return err
	case JSON, CSV, Text:
		return writeRecords(to, s, streamed(answer))
	}
	return fmt.Errorf("output %q is not known", s.Format)
}

// WriteFirst is Write of an Arrow stream for the first rows alone, as many as s.Limit says. It knows no Parquet.
func WriteFirst(to io.Writer, s Style, answer io.Reader) error {
	rows := streamed(answer).first(s.Limit)
	if s.Format == ArrowStream {
		return writeStream(to, rows)
	}
	return writeRecords(to, s, rows)
}

// WriteRecord renders an answer that is in memory.
func WriteRecord(to io.Writer, s Style, record arrow.RecordBatch) error {
	return WriteRecords(to, s, func(visit func(arrow.RecordBatch) error) error { return visit(record) })
}

// WriteRecords renders an answer as it is made: batches calls visit for each of its batches, at least one.
func WriteRecords(to io.Writer, s Style, batches func(visit func(arrow.RecordBatch) error) error) error {
	answer := made(batches).first(s.Reads())
	switch s.Format {
	case Arrow:
		return writeArrow(to, answer)
	case Parquet:
		return writeParquet(to, answer)
	case JSON, CSV, Text:
		return writeRecords(to, s, answer)
	case ArrowStream: // of the database alone
	}
	return fmt.Errorf("output %q is not known", s.Format)
}

func writeRecords(to io.Writer, s Style, answer records) error {
	answer = answer.choose(s.Columns)
	switch s.Format {
	case JSON:
		return writeJSON(to, answer)
	case CSV:
		return writeCSV(to, answer)
	case Text, Arrow, ArrowStream, Parquet:
	}
	return writeText(to, s, answer)
}

func writeCSV(to io.Writer, answer records) error {
	w := csv.NewWriter(to)
	headed := false
	schema, err := answer(func(record arrow.RecordBatch) error {
		if !headed {
			headed = true
			if err := w.Write(names(record.Schema())); err != nil {
				return err
			}
		}
		return csvRows(w, record)
	})
	if err != nil {
		return err
	}
	if !headed {
		if err := w.Write(names(schema)); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}

func csvRows(w *csv.Writer, record arrow.RecordBatch) error {
	line := make([]string, record.NumCols())
	for i := range int(record.NumRows()) {
		for c, column := range record.Columns() {
			line[c] = exact(record.ColumnName(c), column, i)
		}
		if err := w.Write(line); err != nil {
			return err
		}
	}
	return nil
}

func names(schema *arrow.Schema) []string {
	out := make([]string, schema.NumFields())
	for i, f := range schema.Fields() {
		out[i] = f.Name
	}
	return out
}
