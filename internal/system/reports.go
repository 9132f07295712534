package system

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/consumers/clickhouse"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/sql"
)

// Query writes the answer to a query with parameters {name:Type}.
func (c *Client) Query(ctx context.Context, to io.Writer, style report.Style, query string, parameters map[string]string) error {
	answer, err := clickhouse.QueryFirst(ctx, c.database, style.Limit, query, parameters, style.Format.ClickHouse())
	if err != nil {
		return c.nameMalformed(ctx, err)
	}
	return c.nameMalformed(ctx, errors.Join(report.Write(to, style, answer), answer.Close()))
}

// Table is the answer to a query, in memory. The views in it need not be in the database.
func (c *Client) Table(ctx context.Context, query string, parameters map[string]string) (report.Table, error) {
	query, err := sql.Inline(query, nil)
	if err != nil {
		return report.Table{}, err
	}
	return c.plainTable(ctx, query, parameters)
}

// plainTable is the answer to a query in which no views are.
func (c *Client) plainTable(ctx context.Context, query string, parameters map[string]string) (report.Table, error) {
	table, err := c.tableIn(ctx, "", query, parameters)
	return table, c.nameMalformed(ctx, err)
}

// tableIn is the answer to a query in a session.
func (c *Client) tableIn(ctx context.Context, session, query string, parameters map[string]string) (report.Table, error) {
	answer, err := clickhouse.QueryIn(ctx, c.database, session, query, parameters, report.Text.ClickHouse())
	if err != nil {
		return report.Table{}, err
	}
	table, err := report.ReadTable(answer)
	return table, errors.Join(err, answer.Close())
}

// waitEvery is how often the stream is asked how far a store has come.
const waitEvery = 5 * time.Millisecond

// WaitStored returns when the database holds all that the stream holds now.
func (c *Client) WaitStored(ctx context.Context) error {
	if err := pipelines.WaitStored(ctx, c.stream, 0, waitEvery, databaseConsumer); err != nil {
		return fmt.Errorf("wait for the database: %w", err)
	}
	return nil
}

// patience is how long an answer waits for what was published just before it was asked for.
const patience = 5 * time.Second

// WaitCurrent returns when the database holds what the stream held at the
// call. Its error says that it does not after some seconds, or that ctx ended.
func (c *Client) WaitCurrent(ctx context.Context) error {
	stream, err := c.stream.Stream(ctx, pipelines.StreamName)
	if err != nil {
		return fmt.Errorf("look at the stream: %w", err)
	}
	last := stream.CachedInfo().State.LastSeq
	if last == 0 {
		return nil
	}
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := pipelines.WaitStored(waiting, c.stream, last, waitEvery, databaseConsumer); err != nil {
		return fmt.Errorf("the database is behind the stream: %w", err)
	}
	return nil
}

// WaitReplayed returns, after a start with Replay, when every store holds all
// of the stream, and how many messages that is.
func (c *Client) WaitReplayed(ctx context.Context, progress func(done, all int64)) (uint64, error) {
	stream, err := c.stream.Stream(ctx, pipelines.StreamName)
	if err != nil {
		return 0, fmt.Errorf("look at the stream: %w", err)
	}
	messages := stream.CachedInfo().State.Msgs
	progress(0, int64(messages)) //nolint:gosec // a count of messages
	for _, consumer := range []string{databaseConsumer, archiveConsumer} {
		if err := pipelines.WaitStored(ctx, c.stream, 0, 10*waitEvery, consumer); err != nil {
			return 0, err
		}
	}
	progress(int64(messages), int64(messages)) //nolint:gosec // a count of messages
	return messages, nil
}

// Incomplete says, rank by rank, what is missing of a run; empty when all is stored.
func (c *Client) Incomplete(ctx context.Context, run string) ([]string, error) {
	table, err := c.Report(ctx, "completeness", map[string]string{"run": run})
	if err != nil {
		return nil, err
	}
	return table.Gaps(), nil
}

// Reader asks the database as the user who may only read.
type Reader struct{ client Client }

// OpenReader reaches the database alone. The caller closes it.
func (e Endpoint) OpenReader(ctx context.Context) (*Reader, error) {
	database, err := connectDatabase(ctx, e.Reader)
	if err != nil {
		return nil, err
	}
	return &Reader{Client{Endpoint: e, database: database}}, nil
}

// Query writes the answer to a query.
func (r *Reader) Query(ctx context.Context, to io.Writer, style report.Style, query string, parameters map[string]string) error {
	return r.client.Query(ctx, to, style, query, parameters)
}

// Close lets go of the connection.
func (r *Reader) Close() error { return r.client.database.Close() }
