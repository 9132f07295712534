package ask

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/steps"
)

// nearestRuns are the names most like one that no run has.
const nearestRuns = `SELECT DISTINCT name
FROM tap_store.run
ORDER BY
    editDistanceUTF8(name, {run:String}),
    name
LIMIT 3`

// NearestRuns are the names of up to three runs most like a name.
func (d *Door) NearestRuns(ctx context.Context, run string) ([]string, error) {
	table, err := d.Table(ctx, nearestRuns, map[string]string{"run": run})
	if err != nil {
		return nil, err
	}
	names := make([]string, len(table.Rows))
	for i := range names {
		names[i] = table.Get(i, "name").Exact
	}
	return names, nil
}

// UnknownRunError says that no run has that name, and which have one like it: the API passes both on, for a page to lead there.
type UnknownRunError struct {
	Run     string
	Nearest []string // empty where no run is stored
}

// Error names the nearest as text that can be pasted.
func (e *UnknownRunError) Error() string {
	if len(e.Nearest) == 0 {
		return fmt.Sprintf("no run is named %q: none is stored", e.Run)
	}
	quoted := make([]string, len(e.Nearest))
	for i, name := range e.Nearest {
		quoted[i] = strconv.Quote(name)
	}
	return fmt.Sprintf("no run is named %q; the nearest: %s; `tensortap runs` lists all", e.Run, strings.Join(quoted, ", "))
}

// noRun is the error of a name that no run has.
func (d *Door) noRun(ctx context.Context, run string) error {
	names, err := d.NearestRuns(ctx, run)
	if err != nil {
		return err
	}
	return &UnknownRunError{Run: run, Nearest: names}
}

// CheckRank says whether a run has that rank, where one is asked for: else every answer would be empty.
func (d *Door) CheckRank(ctx context.Context, run string, rank int64) error {
	if rank < 0 {
		return nil
	}
	table, err := d.Table(ctx, "SELECT DISTINCT rank FROM tap_store.rank WHERE run_id = xxh3(concat({run:String}, char(31))) ORDER BY rank",
		map[string]string{"run": run})
	if err != nil {
		return err
	}
	var ranks []int64
	for i := range table.Rows {
		ranks = append(ranks, int64(table.Get(i, "rank").Number))
		if ranks[i] == rank {
			return nil
		}
	}
	if len(ranks) == 0 {
		return nil // which a verdict says better
	}
	return fmt.Errorf("run %s has no rank %d; its ranks: %s", run, rank, steps.Spans(ranks))
}

// CheckOp says whether one of the runs has an op of exactly that name.
func (d *Door) CheckOp(ctx context.Context, runs [2]string, op string) error {
	names, err := d.Report(ctx, "op_names", map[string]string{"problem": runs[0], "bench": runs[1], "name": op, "limit": "5"})
	if err != nil || len(names.Rows) == 0 || names.Get(0, "matched_by").Exact == "name" {
		return err
	}
	alike := alikeNames(names, names.Get(0, "matched_by").Exact)
	return fmt.Errorf("no op of %s is named %q; the nearest are:\n  %s", strings.Join(distinct(runs), " or "), op, strings.Join(alike, "\n  "))
}

func distinct(runs [2]string) []string {
	if runs[0] == runs[1] {
		return runs[:1]
	}
	return runs[:]
}

// alikeNames are the names of the ops that match like the first, of the report op_names.
func alikeNames(names report.Table, by string) []string {
	var alike []string
	for i := range names.Rows {
		if names.Get(i, "matched_by").Exact == by {
			alike = append(alike, names.Get(i, "op").Exact)
		}
	}
	return alike
}

// CheckRun says whether a run of that name is stored.
func (d *Door) CheckRun(ctx context.Context, run string) error {
	table, err := d.Table(ctx, "SELECT count() AS found FROM tap_store.run WHERE run_id = xxh3(concat({run:String}, char(31))) AND name = {run:String}", map[string]string{"run": run})
	if err != nil {
		return err
	}
	if table.Get(0, "found").Exact == "0" {
		return d.noRun(ctx, run)
	}
	return nil
}
