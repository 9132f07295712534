package ask

import (
	"context"

	"github.com/tensortap/tensortap/analysis/report"
)

// failuresQuery names the ops that raised, rank by rank, of each the first ones.
const failuresQuery = `SELECT
    run,
    rank,
    step,
    op,
    module_path AS module,
    type,
    message
FROM tap.failures
WHERE run_id IN (SELECT run_id FROM tap_store.run WHERE name IN {runs:Array(String)})
ORDER BY
    run,
    rank,
    event_time_ns,
    seq
LIMIT 10 BY
    run,
    rank
LIMIT 1000`

// Failures are the ops of these runs that raised, by run, rank and time.
func (d *Door) Failures(ctx context.Context, runs ...string) (report.Table, error) {
	return d.Table(ctx, failuresQuery, map[string]string{"runs": Texts(runs)})
}
