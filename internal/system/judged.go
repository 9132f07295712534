package system

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"

	"github.com/tensortap/tensortap/consumers/clickhouse"
	"github.com/tensortap/tensortap/internal/report"
	"github.com/tensortap/tensortap/sql"
)

// judged answers the reports of one comparison over its verdicts, which are
// made once and kept in a temporary table: to plan and join them costs many
// times what the reports over them do. It is used by one goroutine.
type judged struct {
	client     *Client
	parameters map[string]string
	session    string // empty when the verdicts are too many to keep
}

const (
	verdictsView  = "verdicts"
	verdictsTable = "judged_pairs"
	// mostJudgedRows bounds the memory that a comparison takes of the database: about 250 bytes a row.
	mostJudgedRows = 2_000_000
)

// judge makes the verdicts of a comparison. The caller closes it.
func (c *Client) judge(ctx context.Context, parameters map[string]string) (*judged, error) {
	j := &judged{client: c, parameters: parameters}
	few, err := c.Table(ctx, `SELECT sum(tensor_count) <= `+fmt.Sprint(mostJudgedRows)+` AS few FROM tap.steps
		WHERE run_id IN (xxh3(concat({problem:String}, char(31))), xxh3(concat({bench:String}, char(31))))
			AND step >= {first_step:Int64} AND ({last_step:Int64} = -1 OR step <= {last_step:Int64} + abs({step_offset:Int64}))`, parameters)
	if err != nil || few.Get(0, "few").Number == 0 {
		return j, err
	}
	j.session = rand.Text()
	view, err := sql.ViewByName(verdictsView)
	if err != nil {
		return j, err
	}
	verdicts, err := c.settled(ctx, view.Query, parameters)
	if err != nil {
		return j, err
	}
	if err := j.ask(ctx, "CREATE TEMPORARY TABLE "+verdictsTable+" ENGINE = Memory AS "+verdicts); err != nil {
		return j, fmt.Errorf("judge the pairs: %w", err)
	}
	return j, nil
}

// Close removes the table. The database does so itself a minute after the last question.
func (j *judged) Close(ctx context.Context) error {
	if j.session == "" {
		return nil
	}
	return j.ask(ctx, "DROP TEMPORARY TABLE IF EXISTS "+verdictsTable)
}

// Report answers a report; given parameters go before those of the comparison.
func (j *judged) Report(ctx context.Context, name string, given map[string]string) (report.Table, error) {
	parameters := map[string]string{}
	for _, from := range []map[string]string{j.parameters, given} {
		maps.Copy(parameters, from)
	}
	r, values, err := prepareReport(name, parameters)
	if err != nil {
		return report.Table{}, err
	}
	if j.session == "" {
		return j.client.Report(ctx, name, parameters)
	}
	text, err := sql.Inline(r.Query, map[string]string{verdictsView: verdictsTable})
	if err != nil {
		return report.Table{}, err
	}
	return j.query(ctx, text, values)
}

// ask runs a statement that answers nothing.
func (j *judged) ask(ctx context.Context, statement string) error {
	answer, err := clickhouse.QueryIn(ctx, j.client.database, j.session, statement, j.parameters, report.Text.ClickHouse())
	if err != nil {
		return j.client.nameMalformed(ctx, err)
	}
	_, err = io.Copy(io.Discard, answer)
	return j.client.nameMalformed(ctx, errors.Join(err, answer.Close()))
}

func (j *judged) query(ctx context.Context, query string, parameters map[string]string) (report.Table, error) {
	table, err := j.client.tableIn(ctx, j.session, query, parameters)
	return table, j.client.nameMalformed(ctx, err)
}
