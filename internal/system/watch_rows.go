package system

import (
	"context"
	"time"
)

// remeasure is how often steps are measured that have the rows they had.
const remeasure = time.Second

// count is how many rows the runs have: as long as they have no others, steps need not be measured, which costs ten times as much.
func (w *watch) count(ctx context.Context) (string, error) {
	table, err := w.client.Table(ctx, rowsQuery, map[string]string{"problem": w.sides[0].name, "bench": w.sides[1].name})
	if err != nil {
		return "", err
	}
	return table.Get(0, "tensors").Exact + " " + table.Get(0, "steps").Exact, nil
}

const rowsQuery = `SELECT
    (SELECT count() FROM tap_store.tensor WHERE run_id IN (xxh3(concat({problem:String}, char(31))), xxh3(concat({bench:String}, char(31))))) AS tensors,
    (SELECT count() FROM tap_store.step WHERE run_id IN (xxh3(concat({problem:String}, char(31))), xxh3(concat({bench:String}, char(31))))) AS steps`
