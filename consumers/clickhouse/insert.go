package clickhouse

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/schemas"
)

// insertSettings keep an INSERT one block, so one part, so all or nothing, and
// the server from thinking that it knows better which rows are new.
func insertSettings() clickhouse.Settings {
	return clickhouse.Settings{
		"async_insert":                  0,
		"insert_deduplicate":            0,
		"max_insert_block_size":         maxInsertRows,
		"min_insert_block_size_rows":    maxInsertRows,
		"min_insert_block_size_bytes":   0,
		"input_format_parallel_parsing": 0,
		"max_insert_threads":            1,
	}
}

// insert stores messages by one INSERT. Its error is an *unsoundError if one
// of them does not hold what its header says.
func (t *table) insert(ctx context.Context, c *call, of []int) error {
	ctx, cancel := context.WithTimeout(ctx, t.cfg.InsertTimeout)
	defer cancel()
	for {
		id := fmt.Sprintf("%s%s/%d", t.prefix, t.start, t.inserts.Add(1))
		err := t.insertAs(ctx, id, c, of)
		if !idTaken(err) || ctx.Err() != nil {
			return err
		}
	}
}

// idTaken says whether the server refused a query for its id. It does when
// the driver opened a connection for the INSERT: the driver's own first query
// goes by the same id, and may not have quite ended. Nothing was executed.
func idTaken(err error) bool {
	const queryWithSameIDIsAlreadyRunning = 216
	var exception *clickhouse.Exception
	return errors.As(err, &exception) && exception.Code == queryWithSameIDIsAlreadyRunning
}

func (t *table) insertAs(ctx context.Context, id string, c *call, of []int) error {
	ctx = clickhouse.Context(ctx, clickhouse.WithQueryID(id), clickhouse.WithSettings(insertSettings()))
	reader, writer := io.Pipe()
	var encoding errgroup.Group
	encoding.Go(func() error {
		err := t.encode(writer, c, of)
		// an error here cuts the request short, and the server drops it
		return errors.Join(err, writer.CloseWithError(err))
	})
	err := t.conn.InsertFormat(ctx, "ArrowStream", t.sql, reader)
	closed := reader.CloseWithError(io.ErrClosedPipe) // lets go of encode, should the server not have read to the end
	encodeErr := encoding.Wait()
	if encodeErr != nil && !errors.Is(encodeErr, io.ErrClosedPipe) {
		return &unsoundError{cause: encodeErr}
	}
	if err == nil {
		return errors.Join(encodeErr, closed)
	}
	return err
}

// unsoundError says that a message could not be encoded, whatever the server.
// The INSERT it was for is cut short; conclude finds and rejects the message.
type unsoundError struct{ cause error }

// Error implements error.
func (e *unsoundError) Error() string { return e.cause.Error() }

// encode writes the rows of messages as one Arrow IPC stream.
func (t *table) encode(to io.Writer, c *call, of []int) error {
	const bufferBytes = 256 << 10
	buffer := bufio.NewWriterSize(to, bufferBytes)
	writer := ipc.NewWriter(buffer, ipc.WithSchema(t.declared.ArrowSchema()))
	var decoder schemas.Decoder
	for _, i := range of {
		record, err := t.record(&decoder, c.messages[i])
		if err != nil {
			return err
		}
		if err := writer.Write(record); err != nil {
			return err
		}
	}
	return errors.Join(writer.Close(), buffer.Flush())
}

// record decodes a message and checks all that makes an INSERT of it one part.
func (t *table) record(decoder *schemas.Decoder, m schemas.Message) (arrow.RecordBatch, error) {
	record, err := decoder.Record(m)
	if err != nil {
		return nil, err
	}
	k := t.declared.Column("event_time_ns")
	if k < 0 || !t.declared.PartitionByDay {
		return record, nil
	}
	times, ok := record.Column(k).(*array.Int64)
	if !ok {
		return nil, &schemas.MalformedError{Subject: m.Subject(), Reason: "event_time_ns is no Int64"}
	}
	for _, ns := range times.Int64Values() {
		if h := m.Header; ns < h.MinEventTimeNs || ns > h.MaxEventTimeNs {
			reason := fmt.Sprintf("event time %d ns of some row is not within the %d to %d of its header", ns, h.MinEventTimeNs, h.MaxEventTimeNs)
			return nil, &schemas.MalformedError{Subject: m.Subject(), Reason: reason}
		}
	}
	return record, nil
}
