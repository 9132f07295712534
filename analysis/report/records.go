package report

import (
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// records calls visit for every batch of an answer.
type records func(visit func(arrow.RecordBatch) error) (*arrow.Schema, error)

// made is an answer of at least one batch.
func made(batches func(visit func(arrow.RecordBatch) error) error) records {
	return func(visit func(arrow.RecordBatch) error) (schema *arrow.Schema, err error) {
		err = batches(func(record arrow.RecordBatch) error {
			schema = record.Schema()
			return visit(record)
		})
		return schema, err
	}
}

// streamed is an answer that is read from an Arrow stream.
func streamed(answer io.Reader) records {
	return func(visit func(arrow.RecordBatch) error) (*arrow.Schema, error) { return eachRecord(answer, visit) }
}

// errEnough ends an answer early.
var errEnough = errors.New("as many rows as were asked for")

// first is the answer with so many rows at most; 0 for all.
func (answer records) first(limit uint64) records {
	if limit == 0 {
		return answer
	}
	return func(visit func(arrow.RecordBatch) error) (schema *arrow.Schema, err error) {
		left := int64(min(limit, 1<<62)) //nolint:gosec // it fits
		whole, err := answer(func(record arrow.RecordBatch) error {
			some := record.NewSlice(0, min(left, record.NumRows()))
			defer some.Release()
			schema, left = record.Schema(), left-some.NumRows()
			if err := visit(some); err != nil {
				return err
			}
			if left == 0 {
				return errEnough
			}
			return nil
		})
		if errors.Is(err, errEnough) {
			err = nil
		}
		if schema == nil { // no batch
			schema = whole
		}
		return schema, err
	}
}

// writeStream writes an answer that may have no batch at all.
func writeStream(to io.Writer, answer records) error {
	var w *ipc.Writer
	schema, err := answer(func(record arrow.RecordBatch) error {
		if w == nil {
			w = ipc.NewWriter(to, ipc.WithSchema(record.Schema()))
		}
		return w.Write(record)
	})
	if err != nil {
		return fmt.Errorf("write answer: %w", err)
	}
	if w == nil {
		w = ipc.NewWriter(to, ipc.WithSchema(schema))
	}
	return w.Close()
}

func writeArrow(to io.Writer, answer records) error {
	var w *ipc.FileWriter
	_, err := answer(func(record arrow.RecordBatch) (err error) {
		if w == nil {
			if w, err = ipc.NewFileWriter(to, ipc.WithSchema(record.Schema())); err != nil {
				return fmt.Errorf("write answer: %w", err)
			}
		}
		if err := w.Write(record); err != nil {
			return fmt.Errorf("write answer: %w", err)
		}
		return nil
	})
	if err != nil || w == nil {
		return err
	}
	return w.Close()
}

// eachRecord calls visit for every batch of an Arrow stream.
func eachRecord(answer io.Reader, visit func(arrow.RecordBatch) error) (*arrow.Schema, error) {
	reader, err := ipc.NewReader(answer)
	if err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	defer reader.Release()
	for reader.Next() {
		if err := visit(reader.RecordBatch()); err != nil {
			return nil, err
		}
	}
	if err := reader.Err(); err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	return reader.Schema(), nil
}
