package ask

import (
	"context"

	"github.com/tensortap/tensortap/analysis/report"
)

// tokenRowsQuery says which of two runs has tokens at places of the model, and which has log-probabilities. It reads one row of each
// run. The views would read the steps of all runs, to leave replaced ones out.
const tokenRowsQuery = `WITH
    xxh3(concat({problem:String}, char(31))) AS problem,
    xxh3(concat({bench:String}, char(31))) AS bench
SELECT
    (SELECT count() FROM (SELECT rank FROM tap_store.token_site WHERE run_id = problem LIMIT 1)) AS problem_places,
    (SELECT count() FROM (SELECT rank FROM tap_store.token_site WHERE run_id = bench LIMIT 1)) AS bench_places,
    (SELECT count() FROM (SELECT rank FROM tap_store.token WHERE run_id = problem LIMIT 1)) AS problem_told,
    (SELECT count() FROM (SELECT rank FROM tap_store.token WHERE run_id = bench LIMIT 1)) AS bench_told`

// TokenRows says what both runs have of tokens.
func (d *Door) TokenRows(ctx context.Context, problem, bench string) (report.TokenRows, error) {
	table, err := d.Table(ctx, tokenRowsQuery, map[string]string{"problem": problem, "bench": bench})
	if err != nil {
		return report.TokenRows{}, err
	}
	both := func(kind string) bool {
		return table.Sum("problem_"+kind) > 0 && table.Sum("bench_"+kind) > 0
	}
	return report.TokenRows{Places: both("places"), Told: both("told")}, nil
}
