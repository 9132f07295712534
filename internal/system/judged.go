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

// judged answers the reports of one comparison. What several of them read is
// made once and kept in temporary tables: to plan and join it costs many times
// what the reports over it do. It is used by one goroutine.
type judged struct {
	client     *Client
	parameters map[string]string
	session    string
	made       map[string]string // tables that hold what a view answers, by the view's name
}

// mostJudgedRows bounds the memory that a comparison takes of the database: about 250 bytes a row.
const mostJudgedRows = 2_000_000

// sharedViews are the views that several questions of a comparison read, each after those that it reads itself, and
// which of their rows are wanted.
func sharedViews() [][2]string {
	return [][2]string{
		{"completeness", "WHERE run IN {runs:Array(String)}"},
		{"rank_pairs", ""},
		{"program_pairs", ""},
		{"verdicts", ""},
	}
}

// judge makes what the reports of a comparison read, of which it is told whether these runs are complete. The caller closes it.
func (c *Client) judge(ctx context.Context, parameters map[string]string, runs []string) (*judged, error) {
	parameters = maps.Clone(parameters)
	parameters["runs"] = textList(runs)
	j := &judged{client: c, parameters: parameters, session: rand.Text(), made: map[string]string{}}
	few, err := c.Table(ctx, `SELECT sum(tensor_count) <= `+fmt.Sprint(mostJudgedRows)+` AS few FROM tap.steps
		WHERE run_id IN (xxh3(concat({problem:String}, char(31))), xxh3(concat({bench:String}, char(31))))
			AND step >= {first_step:Int64} + least({step_offset:Int64}, 0)
			AND ({last_step:Int64} = -1 OR step <= {last_step:Int64} + greatest({step_offset:Int64}, 0))`, parameters)
	if err != nil {
		return j, err
	}
	views := sharedViews()
	if few.Get(0, "few").Number == 0 {
		views = views[:len(views)-1] // the verdicts are too many to keep
	}
	for _, shared := range views {
		if err := j.keep(ctx, shared[0], shared[1]); err != nil {
			return j, errors.Join(fmt.Errorf("make the %s of the comparison: %w", shared[0], err), j.Close(context.WithoutCancel(ctx)))
		}
	}
	return j, nil
}

// keep makes the table that holds a view's rows.
func (j *judged) keep(ctx context.Context, name, wanted string) error {
	view, err := sql.ViewByName(name)
	if err != nil {
		return err
	}
	query := view.Query
	if wanted != "" {
		query = "SELECT * FROM (\n" + query + "\n) " + wanted
	}
	text, err := settle(query, j.made, nil, j.asking(ctx, j.parameters))
	if err != nil {
		return err
	}
	table := "judged_" + name
	if err := j.ask(ctx, "CREATE TEMPORARY TABLE "+table+" ENGINE = Memory AS "+text); err != nil {
		return err
	}
	j.made[name] = table
	return nil
}

// asking answers questions in the session.
func (j *judged) asking(ctx context.Context, parameters map[string]string) func(string) (sql.Fact, error) {
	return factsOf(func(question string) (report.Table, error) { return j.query(ctx, question, parameters) })
}

// Close removes the tables. The database does so itself a minute after the last question.
func (j *judged) Close(ctx context.Context) error {
	for _, table := range j.made {
		if err := j.ask(ctx, "DROP TEMPORARY TABLE IF EXISTS "+table); err != nil {
			return err
		}
	}
	return nil
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
	text, err := settle(r.Query, j.made, nil, j.asking(ctx, values))
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
