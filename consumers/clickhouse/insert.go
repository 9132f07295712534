package clickhouse

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

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

// insert stores messages by one INSERT. Its error is an *unsoundError if the data of a message do
// not match its header.
func (t *table) insert(ctx context.Context, c *call, of []int) error {
	for {
		id := fmt.Sprintf("%s%s/%d", t.prefix, t.start, t.inserts.Add(1))
		err := t.attend(ctx, id, c, of)
		if !idTaken(err) || ctx.Err() != nil {
			return err
		}
	}
}

// attend waits for an INSERT until it has ended, ctx ends or its time is up.
// In the latter two cases the INSERT itself goes on, for settle to end: broken
// off here, its request might still be on its way, be executed after settle
// had looked, and store its rows a second time.
func (t *table) attend(ctx context.Context, id string, c *call, of []int) error {
	ended := make(chan error, 1)
	var sending errgroup.Group
	sending.Go(func() error {
		ended <- t.insertAs(context.WithoutCancel(ctx), id, c, of)
		return nil
	})
	timer := time.NewTimer(t.cfg.InsertTimeout)
	defer timer.Stop()
	var reason error
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		reason = context.Cause(ctx)
	case <-timer.C:
		reason = fmt.Errorf("no answer within %s", t.cfg.InsertTimeout)
	}
	t.abandoned.add(&sending)
	return reason
}

// idTaken says whether the server refused a query for its id. It does when
// the driver opened a connection for the INSERT: the driver's own first query
// goes by the same id, and may not have quite ended. Nothing was executed.
func idTaken(err error) bool { return hasCode(err, queryWithSameIDIsAlreadyRunning) }

func (t *table) insertAs(ctx context.Context, id string, c *call, of []int) error {
	ctx = clickhouse.Context(ctx, clickhouse.WithQueryID(id), clickhouse.WithSettings(insertSettings()))
	reader, writer := io.Pipe()
	var encoding errgroup.Group
	encoding.Go(func() error {
		err := t.encode(writer, c, of)
		if err != nil && !errors.Is(err, io.ErrClosedPipe) {
			// A request that is cut short would leave its fate in doubt: spoil it, and the server
			// refuses the whole.
			_, _ = io.WriteString(writer, notArrow)
		}
		return errors.Join(err, writer.Close())
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

// notArrow cannot follow in an Arrow stream: the beginning of a message whose metadata is invalid.
const notArrow = "\xff\xff\xff\xff\x10\x00\x00\x00this is no Arrow"

// unsoundError says that a message could not be encoded, whatever the server. Its INSERT is spoilt;
// conclude finds and rejects the message.
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

// record decodes a message and checks everything that keeps its INSERT one part.
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
