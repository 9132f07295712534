package schemas

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// Row is one generated row type, as *TensorRow.
type Row[R any] interface {
	*R
	// Table is the table that the row belongs to.
	Table() Table
	appendTo(columns []column)
	load(from []arrow.Array, row int)
}

// Place gives a measurement the number of the batch that it will stand in, and returns the UTC day that it is of. Definitions
// have neither: theirs is 0.
func Place[R any, P Row[R]](row *R, batch uint64) (day int64) {
	if m, is := any(P(row)).(measured); is {
		return Day(m.place(batch))
	}
	return 0
}

// measured is a row of a measurement.
type measured interface {
	place(batch uint64) (eventTimeNs int64)
}

// Builder collects rows of one table and makes messages of them. It keeps its
// memory between batches. It is not safe for use by several goroutines.
type Builder[R any, P Row[R]] struct {
	table   Table
	schema  *arrow.Schema
	columns []column
	rows    int
	packer  packer
}

// NewBuilder returns an empty builder, as NewBuilder[TensorRow]().
func NewBuilder[R any, P Row[R]]() *Builder[R, P] {
	table := P(new(R)).Table()
	b := &Builder[R, P]{table: table, schema: table.ArrowSchema()}
	for _, c := range table.Columns {
		b.columns = append(b.columns, newColumn(c))
	}
	return b
}

// Append adds a row.
func (b *Builder[R, P]) Append(row *R) {
	P(row).appendTo(b.columns)
	b.rows++
}

// Len is the number of rows since the last Reset.
func (b *Builder[R, P]) Len() int { return b.rows }

// Bytes is the size of those rows before compression.
func (b *Builder[R, P]) Bytes() int {
	n := 0
	for i := range b.columns {
		n += b.columns[i].bytes()
	}
	return n
}

// Reset forgets the rows and keeps their memory.
func (b *Builder[R, P]) Reset() {
	for i := range b.columns {
		b.columns[i].reset()
	}
	b.rows = 0
}

// Record is the rows as an Arrow record over the builder's memory: it is good
// until the next Append or Reset.
func (b *Builder[R, P]) Record() arrow.RecordBatch {
	arrays := make([]arrow.Array, len(b.columns))
	for i := range b.columns {
		arrays[i] = b.columns[i].array()
	}
	return array.NewRecordBatch(b.schema, arrays, int64(b.rows))
}

// Message packs the rows as the batch of that identity, and resets the builder. No table that is kept by days would take rows of
// two: those are refused here, where they were put together.
func (b *Builder[R, P]) Message(id Identity) (Message, error) {
	m, err := b.Kept(id)
	if err == nil && b.table.PartitionByDay && Day(m.Header.MinEventTimeNs) != Day(m.Header.MaxEventTimeNs) {
		return Message{}, fmt.Errorf("make batch %s of %s: its rows are of more than one UTC day", id, b.table.Name)
	}
	return m, err
}

// Kept is Message for the rows of a batch that an archive has, whoever made it.
func (b *Builder[R, P]) Kept(id Identity) (Message, error) {
	m, err := b.packer.message(b.table, b.Record(), id)
	if err == nil {
		b.Reset()
	}
	return m, err
}

// AppendRows adds the rows of a message to rows, with all columns of the table: a column that the
// message lacks is zero, or null. Strings share the record's memory, which is not recycled.
func AppendRows[R any, P Row[R]](rows []R, m Message) ([]R, error) {
	record, err := m.Record()
	if err != nil {
		return rows, err
	}
	if kind := P(new(R)).Table().Kind(); kind != m.Header.Kind {
		return rows, fmt.Errorf("decode %s as rows of %s", m.Header.Kind, kind)
	}
	return loadRows[R, P](rows, record), nil
}

// AppendRecord adds the rows of a record to rows, as AppendRows does. The record's columns have the table's types.
func AppendRecord[R any, P Row[R]](rows []R, record arrow.RecordBatch) ([]R, error) {
	table := P(new(R)).Table()
	record, err := table.normalise(record)
	if err != nil {
		return rows, fmt.Errorf("read rows of %s: %w", table.Name, err)
	}
	return loadRows[R, P](rows, record), nil
}

func loadRows[R any, P Row[R]](rows []R, record arrow.RecordBatch) []R {
	columns := record.Columns()
	first := len(rows)
	rows = append(rows, make([]R, record.NumRows())...)
	for i := range rows[first:] {
		P(&rows[first+i]).load(columns, i)
	}
	return rows
}

// DecodeRows returns the rows of a message, as DecodeRows[TensorRow](m).
func DecodeRows[R any, P Row[R]](m Message) ([]R, error) {
	return AppendRows[R, P](nil, m)
}
