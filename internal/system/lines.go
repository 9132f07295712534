package system

import (
	"context"
	"errors"
	"fmt"

	"github.com/tensortap/tensortap/analysis/ask"
	"github.com/tensortap/tensortap/schemas"
)

// SpokenLine is a line that a process of a run wrote, as the tables have it.
type SpokenLine struct {
	TimeNs    int64
	Basis     string
	Rank      *uint32 // nil for a process that is no rank
	Step      *uint32
	Host      string
	PID       *int64
	Role      string
	Stream    string
	Level     string
	Logger    string
	Kind      string
	Request   string
	Text      string
	Exception string
	Fields    map[string]string
	Seq       uint64
}

// Lines visits the lines that the report logs answers, in its order.
func (c *Client) Lines(ctx context.Context, parameters map[string]string, visit func(*SpokenLine) error) error {
	report, values, err := ask.Prepare("logs", parameters)
	if err != nil {
		return err
	}
	rows, err := c.Rows(ctx, report.Query, values)
	if err != nil {
		return fmt.Errorf("read the lines of run %s: %w", parameters["run"], err)
	}
	for err == nil && rows.Next() {
		var l SpokenLine
		err = rows.Scan(&l.TimeNs, &l.Basis, &l.Rank, &l.Step, &l.Host, &l.PID, &l.Role, &l.Stream, &l.Level, &l.Logger, &l.Kind,
			&l.Request, &l.Text, &l.Exception, &l.Fields, &l.Seq)
		if err == nil {
			err = visit(&l)
		}
	}
	return errors.Join(err, rows.Err(), rows.Close())
}

// HasLines says whether any line of the run is stored.
func (c *Client) HasLines(ctx context.Context, run string) (bool, error) {
	table, err := c.Table(ctx, `SELECT count() > 0 FROM (SELECT 1 FROM tap_store.log WHERE run_id = {run:UInt64} LIMIT 1)`,
		map[string]string{"run": fmt.Sprint(schemas.RunID(run))})
	return err == nil && table.Rows[0][0].Number > 0, err
}

// AroundStep is the time of a step, over all ranks, and of a second on both sides; 0 if no rank had it.
func (c *Client) AroundStep(ctx context.Context, run string, step uint32) (fromNs, toNs int64, err error) {
	rows, err := c.Rows(ctx, `SELECT min(ifNull(begin_time_ns, event_time_ns)) - 1000000000, max(ifNull(end_time_ns, event_time_ns)) + 1000000000
FROM tap.steps WHERE run_id = {run:UInt64} AND step = {step:UInt32} HAVING count() > 0`,
		map[string]string{"run": fmt.Sprint(schemas.RunID(run)), "step": fmt.Sprint(step)})
	if err != nil {
		return 0, 0, err
	}
	for err == nil && rows.Next() {
		err = rows.Scan(&fromNs, &toNs)
	}
	return fromNs, toNs, errors.Join(err, rows.Err(), rows.Close())
}
