package schemas

import (
	"bytes"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/klauspost/compress/s2"
)

// Pack makes the message of that identity of rows that a store gave back, whose columns have the table's types.
func (t Table) Pack(id Identity, records []arrow.RecordBatch) (Message, error) {
	arrays := make([]arrow.Array, len(t.Columns))
	rows := int64(0)
	for _, record := range records {
		rows += record.NumRows()
	}
	for i := range arrays {
		parts := make([]arrow.Array, len(records))
		for k, record := range records {
			whole, err := t.normalise(record)
			if err != nil {
				return Message{}, fmt.Errorf("pack rows of %s: %w", t.Name, err)
			}
			parts[k] = whole.Column(i)
		}
		var err error
		if arrays[i], err = array.Concatenate(parts, memory.DefaultAllocator); err != nil {
			return Message{}, fmt.Errorf("pack rows of %s: %w", t.Name, err)
		}
	}
	var p packer
	return p.message(t, array.NewRecordBatch(t.ArrowSchema(), arrays, rows), id)
}

// packer keeps its memory between messages.
type packer struct {
	ipc    bytes.Buffer
	packed []byte
}

func (p *packer) message(t Table, record arrow.RecordBatch, id Identity) (Message, error) {
	p.ipc.Reset()
	rows := int(record.NumRows())
	if err := writeStream(&p.ipc, record.Schema(), record); err != nil {
		return Message{}, fmt.Errorf("encode %d rows of %s: %w", rows, t.Name, err)
	}
	header := Header{Kind: t.Kind(), Version: t.Version, Identity: id, Rows: rows, Encoding: EncodingArrowS2}
	if column := t.Column("event_time_ns"); column >= 0 {
		header.MinEventTimeNs, header.MaxEventTimeNs = bounds(record.Column(column))
	}
	p.packed = s2.Encode(p.packed[:cap(p.packed)], p.ipc.Bytes())
	data := bytes.Clone(p.packed) // of its own size: senders count memory by it
	header.CRC = checksum(data)
	return Message{Header: header, Data: data}, nil
}

// bounds is the least and the greatest of the times.
func bounds(column arrow.Array) (least, greatest int64) {
	times, ok := column.(*array.Int64)
	if !ok || times.Len() == 0 {
		return 0, 0
	}
	values := times.Int64Values()
	least, greatest = values[0], values[0]
	for _, v := range values {
		least, greatest = min(least, v), max(greatest, v)
	}
	return least, greatest
}

func writeStream(to *bytes.Buffer, schema *arrow.Schema, record arrow.RecordBatch) error {
	w := ipc.NewWriter(to, ipc.WithSchema(schema))
	if err := w.Write(record); err != nil {
		return err
	}
	return w.Close()
}
