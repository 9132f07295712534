package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
)

// alignedRows is how many rows decide how wide columns are. An answer of any length takes the memory of so many; a later
// value that is wider moves the rest of its line.
const alignedRows = 2000

// textWriter writes a table for people, row by row, as the style says.
type textWriter struct {
	to      io.Writer
	style   Style
	columns []string
	numeric []bool

	widest  int        // of the names of columns, in characters
	pending [][]string // rows that wait for the widths
	widths  []int      // once they are known
	count   uint64     // rows that came
}

func newTextWriter(to io.Writer, style Style, columns []string, numeric []bool) *textWriter {
	w := &textWriter{to: to, style: style, columns: columns, numeric: numeric}
	for _, name := range columns {
		w.widest = max(w.widest, utf8.RuneCountInString(name))
	}
	return w
}

func writeText(to io.Writer, style Style, answer records) error {
	var w *textWriter
	schema, err := answer(func(record arrow.RecordBatch) error {
		if w == nil {
			w = newTextWriter(to, style, names(record.Schema()), numeric(record.Schema()))
		}
		for i := range int(record.NumRows()) {
			if err := w.add(readRow(record, i)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if w == nil {
		w = newTextWriter(to, style, names(schema), numeric(schema))
	}
	return w.end()
}

// add takes a row; of those beyond the limit it only counts.
func (w *textWriter) add(row []Value) error {
	w.count++
	if w.style.Limit > 0 && w.count > w.style.Limit {
		return nil
	}
	cells := make([]string, len(row))
	for c, v := range row {
		cells[c] = v.Text()
	}
	if w.style.Vertical {
		return w.vertical(cells)
	}
	w.pending = append(w.pending, cells)
	if w.widths == nil && len(w.pending) < alignedRows {
		return nil
	}
	return w.flush()
}

// end writes what waits, and says whether there are more rows.
func (w *textWriter) end() error {
	if !w.style.Vertical {
		if err := w.flush(); err != nil {
			return err
		}
	}
	if w.count == 0 {
		return w.none()
	}
	if w.style.Limit == 0 || w.count <= w.style.Limit {
		return nil
	}
	_, err := fmt.Fprintln(w.to, "and more; --limit 0 for all")
	return err
}

// none says why there are no rows.
func (w *textWriter) none() error {
	why := ""
	if w.style.Because != nil {
		var err error
		if why, err = w.style.Because(); err != nil {
			return err
		}
	}
	switch {
	case why != "":
		_, err := fmt.Fprintln(w.to, "no rows:", Printable(why))
		return err
	case w.style.Empty != "":
		_, err := fmt.Fprintf(w.to, "no rows. There are none where %s, or where nothing fits what was asked for\n", w.style.Empty)
		return err
	}
	return nil
}

// vertical writes a line for each value of a row, and one before them.
func (w *textWriter) vertical(cells []string) error {
	if _, err := fmt.Fprintf(w.to, "row %d\n", w.count); err != nil {
		return err
	}
	for c, text := range cells {
		if _, err := fmt.Fprintf(w.to, "  %-*s  %s\n", w.widest, w.columns[c], text); err != nil {
			return err
		}
	}
	return nil
}

// flush writes the rows that wait, the first time below the names of the columns.
func (w *textWriter) flush() error {
	if w.widths == nil {
		w.pending = slices.Insert(w.pending, 0, w.columns)
		w.widths = make([]int, len(w.columns))
		for _, line := range w.pending {
			for c, text := range line {
				w.widths[c] = max(w.widths[c], utf8.RuneCountInString(text))
			}
		}
	}
	for _, line := range w.pending {
		if _, err := fmt.Fprintln(w.to, w.align(line)); err != nil {
			return err
		}
	}
	w.pending = w.pending[:0]
	return nil
}

// align puts numbers to the right.
func (w *textWriter) align(line []string) string {
	var b strings.Builder
	for c, text := range line {
		pad := strings.Repeat(" ", max(0, w.widths[c]-utf8.RuneCountInString(text)))
		if w.numeric[c] {
			b.WriteString(pad + text + "  ")
		} else {
			b.WriteString(text + pad + "  ")
		}
	}
	return strings.TrimRight(b.String(), " ")
}
