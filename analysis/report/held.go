package report

import (
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Held is an answer that is held in memory, so that it can be read and written without being asked for again.
type Held struct{ batches []arrow.RecordBatch }

// Hold reads an answer whole.
func Hold(answer io.Reader) (Held, error) {
	var held Held
	schema, err := eachRecord(answer, func(record arrow.RecordBatch) error {
		record.Retain()
		held.batches = append(held.batches, record)
		return nil
	})
	if err == nil && len(held.batches) == 0 { // columns are known of batches alone
		held.batches = append(held.batches, array.NewRecordBuilder(memory.DefaultAllocator, schema).NewRecordBatch())
	}
	return held, err
}

// each calls visit for every batch, of which there is at least one.
func (h Held) each(visit func(arrow.RecordBatch) error) error {
	for _, batch := range h.batches {
		if err := visit(batch); err != nil {
			return err
		}
	}
	return nil
}

// Table is the answer as a table.
func (h Held) Table() (Table, error) { return readTable(made(h.each)) }

// Write renders the answer.
func (h Held) Write(to io.Writer, s Style) error { return WriteRecords(to, s, h.each) }
