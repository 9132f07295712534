package schemas

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/klauspost/compress/s2"
)

// decompress is the Arrow stream as the producer wrote it.
func (m Message) decompress(scratch []byte) ([]byte, error) {
	n, err := s2.DecodedLen(m.Data)
	if err != nil {
		return nil, fmt.Errorf("decompress %d bytes: %w", len(m.Data), err)
	}
	if n > MaxStreamBytes {
		return nil, fmt.Errorf("decompress %d bytes: %d bytes of rows, limit %d", len(m.Data), n, MaxStreamBytes)
	}
	stream, err := s2.Decode(scratch[:cap(scratch)], m.Data)
	if err != nil {
		return nil, fmt.Errorf("decompress %d bytes: %w", len(m.Data), err)
	}
	return stream, nil
}

// StreamBytes is what the data claim to take once decompressed: 0 where they say nothing, or more than a message may take.
func (m Message) StreamBytes() int {
	n, err := s2.DecodedLen(m.Data)
	if err != nil || n > MaxStreamBytes {
		return 0
	}
	return n
}

// Record decodes the rows into an Arrow record with all columns of the table, in its order. A
// column that the message lacks is zero, or null; a column that the table lacks is left out. It
// checks the number and identity of the rows against the header. Its error is a *MalformedError.
func (m Message) Record() (arrow.RecordBatch, error) {
	var d Decoder
	return d.Record(m)
}

// Decoder decodes one message after the other into the same memory. Its zero
// value is ready. It is not safe for use by several goroutines.
type Decoder struct{ stream []byte }

// Record is Message.Record in the decoder's memory, good until the next call.
func (d *Decoder) Record(m Message) (arrow.RecordBatch, error) {
	stream, err := m.decompress(d.stream)
	if err == nil {
		d.stream = stream
		var record arrow.RecordBatch
		if record, err = m.decode(stream); err == nil {
			return record, nil
		}
	}
	return nil, &MalformedError{Subject: m.Subject(), Reason: err.Error()}
}

func (m Message) decode(stream []byte) (arrow.RecordBatch, error) {
	record, err := firstBatch(stream)
	if err != nil {
		return nil, err
	}
	if int(record.NumRows()) != m.Header.Rows {
		return nil, fmt.Errorf("%d rows, header says %d", record.NumRows(), m.Header.Rows)
	}
	table, _ := TableByKind(m.Header.Kind)
	if err := table.checkArrays(record); err != nil {
		return nil, err
	}
	if record, err = table.normalise(record); err != nil {
		return nil, err
	}
	return record, m.checkIdentity(record, table)
}

func (m Message) checkIdentity(record arrow.RecordBatch, table Table) error {
	if table.Class == Definition {
		return nil
	}
	id := m.Header.Identity
	for i, want := range []uint64{id.RunID, uint64(id.Rank), id.Epoch, id.Batch} {
		if !holdsOnly(record.Column(i), want) {
			return fmt.Errorf("%s of some row is not the %d of its header", record.ColumnName(i), want)
		}
	}
	return nil
}

func holdsOnly(column arrow.Array, want uint64) bool {
	switch c := column.(type) {
	case *array.Uint64:
		for _, v := range c.Uint64Values() {
			if v != want {
				return false
			}
		}
	case *array.Uint32:
		for _, v := range c.Uint32Values() {
			if uint64(v) != want {
				return false
			}
		}
	}
	return true
}

// normalise is the record with the columns of the table.
func (t Table) normalise(record arrow.RecordBatch) (arrow.RecordBatch, error) {
	schema := t.ArrowSchema()
	if record.Schema().Equal(schema) {
		return record, nil
	}
	arrays := make([]arrow.Array, len(t.Columns))
	rows := int(record.NumRows())
	zeros := make([]byte, 8*(rows+1)) // shared by all columns that are missing
	for i, c := range t.Columns {
		found := record.Schema().FieldIndices(c.Name)
		if len(found) == 0 {
			arrays[i] = c.missing(rows, zeros)
			continue
		}
		arrays[i] = record.Column(found[0])
		if !arrow.TypeEqual(arrays[i].DataType(), schema.Field(i).Type) {
			return nil, fmt.Errorf("column %s is %s, want %s", c.Name, arrays[i].DataType(), schema.Field(i).Type)
		}
		if err := c.checkNulls(arrays[i]); err != nil {
			return nil, err
		}
	}
	return array.NewRecordBatch(schema, arrays, record.NumRows()), nil
}

// missing is the column for rows written before it was declared: of zeros, or nulls.
func (c Column) missing(rows int, zeros []byte) arrow.Array {
	col := newColumn(c)
	col.rows = rows
	if width := c.Type.width(); width > 0 {
		col.values = zeros[:rows*width]
	} else {
		col.offsets = zeros[:4*(rows+1)]
	}
	if c.Nullable {
		col.valid, col.nulls = zeros, rows
	}
	return col.array()
}
