package system

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tensortap/tensortap/internal/retention"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// RoomTable is what takes the room, as a table: the largest run first.
func (c *Client) RoomTable(ctx context.Context, spool string) (arrow.RecordBatch, error) {
	uses, err := c.Room(ctx, spool)
	if err != nil {
		return nil, err
	}
	pinned, err := pipelines.PinnedRuns(ctx, c.stream)
	if err != nil {
		return nil, err
	}
	return roomRecord(uses, c.namesByID(ctx), pinned), nil
}

func roomRecord(uses []retention.Use, names map[string]string, pinned map[uint64]bool) arrow.RecordBatch {
	number := arrow.PrimitiveTypes.Uint64
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{
		{Name: "run", Type: arrow.BinaryTypes.String},
		{Name: "place", Type: arrow.BinaryTypes.String},
		{Name: "bytes", Type: number},
		{Name: "rows", Type: number},
		{Name: "pinned", Type: arrow.PrimitiveTypes.Uint8},
	}, nil))
	defer b.Release()
	var (
		runs, places = b.Field(0).(*array.StringBuilder), b.Field(1).(*array.StringBuilder) //nolint:errcheck // as the fields above
		bytes, rows  = b.Field(2).(*array.Uint64Builder), b.Field(3).(*array.Uint64Builder) //nolint:errcheck // likewise
		pins         = b.Field(4).(*array.Uint8Builder)                                     //nolint:errcheck // likewise
	)
	for _, u := range uses {
		runs.Append(nameOf(u.RunID, names))
		places.Append(u.Store)
		bytes.Append(u.Bytes)
		rows.Append(u.Rows)
		pins.Append(bit(pinned[u.RunID]))
	}
	return b.NewRecordBatch()
}

// nameOf is empty for what is of no run, and an id where nobody knows the name.
func nameOf(runID uint64, names map[string]string) string {
	if runID == 0 {
		return ""
	}
	id := schemas.FormatID(runID)
	if name, known := names[id]; known {
		return name
	}
	return id
}
