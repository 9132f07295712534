package ask

import (
	"context"
	"strconv"
	"time"
)

// standingRuns are those of which a rank lives and has had nothing on file after a collective that is not complete. Only the
// last collective of each rank is looked at, so that it may be asked again and again.
const standingRuns = `SELECT DISTINCT name
FROM tap_store.run
WHERE run_id IN (
    SELECT run_id
    FROM tap_store.collective
    WHERE run_id IN (
        SELECT run_id
        FROM tap_store.heartbeat
        WHERE event_time_ns > toUnixTimestamp64Nano(now64(9)) - {silent_ns:Int64}
        GROUP BY run_id, rank
        HAVING argMax(state, event_time_ns) = 'running'
    )
    GROUP BY run_id, rank
    HAVING argMax(state, (event_time_ns, seq)) != 'completed'
        AND max(event_time_ns) < toUnixTimestamp64Nano(now64(9)) - {waiting_ns:Int64}
)
ORDER BY name`

// StandingRuns are the live runs in which a collective may have waited for so long; a rank lives that was heard of within
// that other time.
func (d *Door) StandingRuns(ctx context.Context, waiting, silent time.Duration) ([]string, error) {
	table, err := d.Table(ctx, standingRuns, map[string]string{
		"waiting_ns": strconv.FormatInt(waiting.Nanoseconds(), 10), "silent_ns": strconv.FormatInt(silent.Nanoseconds(), 10),
	})
	if err != nil {
		return nil, err
	}
	names := make([]string, len(table.Rows))
	for i := range names {
		names[i] = table.Get(i, "name").Exact
	}
	return names, nil
}
