package clickhouse

import (
	"context"
	"errors"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/tensortap/tensortap/schemas"
)

// addedRows is about how many rows are added up by one statement.
const addedRows = 1_000_000

// mostRounds is how often it is tried that all steps of a run are added up: the database adds up steps by itself, and one that both
// do is removed again.
const mostRounds = 5

var errNotAdded = errors.New("some steps are not added up yet")

// KeepAggregates returns once the table of trends holds what each tensor of each step of a run looked like over all ranks, so
// that the tensors themselves may go. It may be repeated, and killed, as long as all tensors are there.
func KeepAggregates(ctx context.Context, conn driver.Conn, run string) error {
	for range mostRounds {
		_ = conn.Exec(ctx, "SYSTEM WAIT VIEW "+storeDatabase+"."+derivingView) // that it fails is its own matter
		steps, err := stepsToAdd(ctx, conn, run)
		if err != nil {
			return fmt.Errorf("look which steps of run %s are added up: %w", run, err)
		}
		if len(steps) == 0 {
			return nil
		}
		if err := addSteps(ctx, conn, run, steps); err != nil {
			return fmt.Errorf("add up the steps of run %s: %w", run, err)
		}
	}
	return fmt.Errorf("add up the steps of run %s: %w", run, errNotAdded)
}

// stepToAdd is a step that is not added up, or wrongly.
type stepToAdd struct {
	step  uint32
	rows  uint64
	wrong bool
}

func stepsToAdd(ctx context.Context, conn driver.Conn, run string) (steps []stepToAdd, err error) {
	sql := fmt.Sprintf("SELECT step, row_count, state = 'wrong' FROM tap.trend_steps WHERE run_id = %d AND state != 'kept' ORDER BY step", schemas.RunID(run))
	err = eachRow(ctx, conn, sql, func(rows driver.Rows) error {
		var (
			s     stepToAdd
			wrong uint8
		)
		err := rows.Scan(&s.step, &s.rows, &wrong)
		s.wrong = wrong == 1
		steps = append(steps, s)
		return err
	})
	return steps, err
}

// addSteps adds up neighbouring steps together.
func addSteps(ctx context.Context, conn driver.Conn, run string, steps []stepToAdd) error {
	for len(steps) > 0 {
		n, rows := 0, uint64(0)
		for n < len(steps) && (n == 0 || rows+steps[n].rows <= addedRows) && steps[n].wrong == steps[0].wrong {
			rows += steps[n].rows
			n++
		}
		first, last := steps[0].step, steps[n-1].step
		if steps[0].wrong {
			// Steps between these are right, and are added up again by the next round.
			condition := fmt.Sprintf("run_id = %d AND step BETWEEN %d AND %d", schemas.RunID(run), first, last)
			if err := DeleteRows(ctx, conn, derivedTable, condition); err != nil {
				return err
			}
		} else if err := conn.Exec(ctx, trendInsert(run, first, last)); err != nil {
			return err
		}
		steps = steps[n:]
	}
	return nil
}

// trendInsert is the statement that adds up those steps of which nothing is there, as 049_trend_fill.sql does for steps of several ranks that have ended.
func trendInsert(run string, first, last uint32) string {
	return fmt.Sprintf(`INSERT INTO tap_store.trend SETTINGS async_insert = 0
WITH contents AS (
    SELECT step, sum(cityHash64(rank, epoch, stored_count, seq_sum)) AS content
    FROM (
        SELECT run_id, rank, step, epoch, count() AS stored_count, sum(seq) AS seq_sum
        FROM tap_store.tensor
        WHERE run_id = %[1]d
        GROUP BY run_id, rank, step, epoch
    )
    WHERE (rank, step, epoch) NOT IN (SELECT rank, step, epoch FROM tap.superseded_steps WHERE run_id = %[1]d)
    GROUP BY step
)
SELECT
    toUInt64(%[1]d) AS run_id,
    site_id,
    toUInt32(some.step) AS step,
    any(contents.content) AS content,
    sum(some.row_count) AS row_count,
    sum(some.not_finite_row_count) AS not_finite_row_count,
    sum(some.element_count) AS element_count,
    ifNull(minOrNullIf(some.value_min, NOT isNaN(some.value_min)), if(count(some.value_min) > 0, nan, NULL)) AS value_min,
    ifNull(maxOrNullIf(some.value_max, NOT isNaN(some.value_max)), if(count(some.value_max) > 0, nan, NULL)) AS value_max,
    ifNull(sumOrNullIf(some.square_sum, NOT isNaN(some.square_sum)), if(count(some.square_sum) > 0, nan, NULL)) AS square_sum,
    sum(some.square_element_count) AS square_element_count,
    ifNull(sumOrNullIf(some.value_sum, NOT isNaN(some.value_sum)), if(count(some.value_sum) > 0, nan, NULL)) AS value_sum,
    sum(some.value_element_count) AS value_element_count,
    sumOrNull(some.nan_count) AS nan_count,
    sumOrNull(some.infinity_count) AS infinity_count
FROM tap.step_aggregates(run = %[2]s, first_step = %[3]d, last_step = %[4]d) AS some
INNER JOIN contents ON contents.step = some.step
WHERE some.step NOT IN (SELECT step FROM tap_store.trend WHERE run_id = %[1]d)
GROUP BY site_id, some.step`, schemas.RunID(run), quote(run), first, last)
}
