// Package msprobecsv writes the result of a comparison as msProbe's own compare
// does, for the scripts that read its files: the same columns, and in them the
// same texts.
package msprobecsv

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/tensortap/tensortap/analysis/msprobe/msprobecompare"
)

// Place is what one file is about: msProbe writes a file for each rank of a step.
type Place struct {
	Rank, Step uint32
}

// FileName is the name of a place's file: msProbe's, with the step for the time.
func (p Place) FileName() string {
	return fmt.Sprintf("compare_result_rank%d_step%d.csv", p.Rank, p.Step)
}

// Write writes the rows of each place to what open returns for it, which it
// closes. It returns the places, in their order.
func Write(ctx context.Context, job *msprobecompare.Job, open func(Place) (io.WriteCloser, error)) ([]Place, error) {
	w := &writer{open: open, row: row{mode: job.Mode, hasStacks: job.HasStacks}}
	err := job.Each(ctx, w.write)
	return w.places, errors.Join(err, w.close())
}

// writer has the file of one place open at a time.
type writer struct {
	open   func(Place) (io.WriteCloser, error)
	row    row
	places []Place
	file   io.WriteCloser
	buffer *bufio.Writer
	line   []string
}

func (w *writer) write(r *msprobecompare.Row) error {
	w.row.Row = r
	at := Place{Rank: r.Rank, Step: r.Step}
	if len(w.places) == 0 || w.places[len(w.places)-1] != at {
		if err := w.next(at); err != nil {
			return err
		}
	}
	w.line = w.row.cells(w.line[:0])
	if err := writeLine(w.buffer, w.line); err != nil {
		return fmt.Errorf("write msProbe's rows of rank %d, step %d: %w", at.Rank, at.Step, err)
	}
	return nil
}

// next closes the file of the last place and begins that of another.
func (w *writer) next(at Place) error {
	if err := w.close(); err != nil {
		return err
	}
	file, err := w.open(at)
	if err != nil {
		return err
	}
	w.places, w.file, w.buffer = append(w.places, at), file, bufio.NewWriter(file)
	return writeLine(w.buffer, w.row.header())
}

func (w *writer) close() error {
	if w.file == nil {
		return nil
	}
	err := errors.Join(w.buffer.Flush(), w.file.Close())
	w.file = nil
	return err
}
