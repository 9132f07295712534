// Package msprobecsv writes the result of a comparison as msProbe's own compare
// does, for the scripts that read its files: the same columns, and in them the
// same texts.
package msprobecsv

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// Place is what one file is about: msProbe writes a file for each rank of a step.
type Place struct {
	Rank, Step uint32
}

// FileName is the name of a place's file: msProbe's, with the step for the time.
func (p Place) FileName() string {
	return fmt.Sprintf("compare_result_rank%d_step%d.csv", p.Rank, p.Step)
}

// Write reads the answer of report msprobe, an Arrow stream, and writes the
// rows of each place to what open returns for it, which it closes. It returns
// the places, in their order.
func Write(answer io.Reader, open func(Place) (io.WriteCloser, error)) ([]Place, error) {
	reader, err := ipc.NewReader(answer)
	if err != nil {
		return nil, fmt.Errorf("read msProbe's rows: %w", err)
	}
	defer reader.Release()
	w := &writer{open: open}
	for reader.Next() {
		if err := w.rows(reader.RecordBatch()); err != nil {
			return w.places, errors.Join(err, w.close())
		}
	}
	if err := reader.Err(); err != nil {
		return w.places, errors.Join(fmt.Errorf("read msProbe's rows: %w", err), w.close())
	}
	return w.places, w.close()
}

// writer has the file of one place open at a time.
type writer struct {
	open   func(Place) (io.WriteCloser, error)
	places []Place
	file   io.WriteCloser
	buffer *bufio.Writer
	line   []string
}

func (w *writer) rows(record arrow.RecordBatch) error {
	columns, err := readColumns(record)
	if err != nil {
		return err
	}
	for i := range int(record.NumRows()) {
		r := columns.row(i)
		if len(w.places) == 0 || w.places[len(w.places)-1] != r.place {
			if err := w.next(&r); err != nil {
				return err
			}
		}
		w.line = r.cells(w.line[:0])
		if err := writeLine(w.buffer, w.line); err != nil {
			return fmt.Errorf("write msProbe's rows of rank %d, step %d: %w", r.place.Rank, r.place.Step, err)
		}
	}
	return nil
}

// next closes the file of the last place and begins that of the row.
func (w *writer) next(r *row) error {
	if err := w.close(); err != nil {
		return err
	}
	file, err := w.open(r.place)
	if err != nil {
		return err
	}
	w.places, w.file, w.buffer = append(w.places, r.place), file, bufio.NewWriter(file)
	return writeLine(w.buffer, r.header())
}

func (w *writer) close() error {
	if w.file == nil {
		return nil
	}
	err := errors.Join(w.buffer.Flush(), w.file.Close())
	w.file = nil
	return err
}
