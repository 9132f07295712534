package system

import (
	"context"
	"time"

	"github.com/tensortap/tensortap/sql"
)

// remeasure is how often steps are measured that have the rows they had.
const remeasure = time.Second

// count is how many rows each table has, of measurements those of the two runs. As long as the runs have no others, steps
// need not be measured, which costs ten times as much.
func (w *watch) count(ctx context.Context) (map[string]string, error) {
	table, err := w.client.Table(ctx, rowsQuery, map[string]string{"problem": w.sides[0].name, "bench": w.sides[1].name})
	if err != nil {
		return nil, err
	}
	rows := map[string]string{}
	for i := range table.Rows {
		rows[table.Get(i, "name").Exact] = table.Get(i, "row_count").Exact
	}
	return rows, nil
}

const rowsQuery = `SELECT 'tensor' AS name, toNullable(count()) AS row_count
FROM tap_store.tensor
WHERE run_id IN (xxh3(concat({problem:String}, char(31))), xxh3(concat({bench:String}, char(31))))
UNION ALL
SELECT 'step' AS name, toNullable(count()) AS row_count
FROM tap_store.step
WHERE run_id IN (xxh3(concat({problem:String}, char(31))), xxh3(concat({bench:String}, char(31))))
UNION ALL
SELECT name, total_rows AS row_count
FROM system.tables
WHERE database = 'tap_store' AND name NOT IN ('tensor', 'step')`

// see finds out what the questions of a look rest on.
func (w *watch) see(ctx context.Context, rows map[string]string) (sight, error) {
	table, err := w.client.Table(ctx, supersededQuery, map[string]string{"problem": w.sides[0].name, "bench": w.sides[1].name})
	if err != nil {
		return sight{}, err
	}
	at := sight{rows: rows, given: map[string]sql.Fact{}}
	if list := table.Get(0, "list").Exact; len(list) < sql.LongestFact { // of more, each asks for its own
		at.given["superseded"] = sql.Fact{Type: "Array(Tuple(UInt64, UInt32, UInt32, UInt64))", Text: list}
	}
	return at, nil
}

const supersededQuery = `SELECT toString(groupArray((run_id, rank, step, epoch))) AS list
FROM tap.superseded_steps
WHERE run_id IN (xxh3(concat({problem:String}, char(31))), xxh3(concat({bench:String}, char(31))))`
