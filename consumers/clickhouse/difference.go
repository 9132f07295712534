package clickhouse

import (
	"context"
	"fmt"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/tensortap/tensortap/schemas"
)

// Difference says how the new rows of one run in one table differ from the old ones. It counts batches of measurements,
// and rows of definitions.
type Difference struct {
	Table   schemas.Table
	RunID   uint64 // 0 where rows of the table belong to no run
	Lost    uint64 // the new table lacks them
	Gained  uint64 // the old table lacked them
	Changed uint64 // both have them, with other content
}

// Differences compares all rows of the new tables with the rows of the old ones.
func (r *Rebuild) Differences(ctx context.Context) ([]Difference, error) {
	var all []Difference
	for _, table := range fromStream() {
		err := eachRow(ctx, r.conn, differenceSQL(table), func(rows driver.Rows) error {
			d := Difference{Table: table}
			err := rows.Scan(&d.RunID, &d.Lost, &d.Gained, &d.Changed)
			all = append(all, d)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("hold the new table %s against the old one: %w", table.Kind(), err)
		}
	}
	return all, nil
}

func differenceSQL(table schemas.Table) string {
	keys := table.Key
	if table.Class == schemas.Measurement {
		keys = []string{"run_id", "rank", "epoch", "batch"}
	}
	key, run := quoted(keys), "toUInt64(0)"
	if strings.Contains(key, "`run_id`") {
		run = "run_id"
	}
	return fmt.Sprintf("SELECT %s AS of_run, countIf(new_count = 0) AS lost, countIf(old_count = 0) AS gained, "+
		"countIf(old_count > 0 AND new_count > 0) AS changed FROM ("+
		"SELECT %s, sumIf(_rows, NOT _new) AS old_count, sumIf(_rows, _new) AS new_count FROM (%s UNION ALL %s) GROUP BY %s "+
		"HAVING old_count != new_count OR sumIf(_sum, NOT _new) != sumIf(_sum, _new)) GROUP BY of_run ORDER BY of_run",
		run, key, contentSQL(storeDatabase, table, key, 0), contentSQL(nextDatabase, table, key, 1), key)
}

// contentSQL is how many rows there are of each key, and a number for what they say, in whatever order they lie.
func contentSQL(database string, table schemas.Table, key string, isNew int) string {
	final := ""
	if table.Class == schemas.Definition {
		final = " FINAL" // the same row comes from many batches
	}
	return fmt.Sprintf("SELECT %s, %d AS _new, count() AS _rows, sum(cityHash64(%s)) AS _sum FROM %s.`%s`%s GROUP BY %s",
		key, isNew, hashed(table), database, table.Kind(), final, key)
}

// hashed are the columns as a hash takes them: a hash of null would be null, and no part of the sum.
func hashed(table schemas.Table) string {
	var columns []string
	for _, c := range table.Columns {
		name := "`" + c.Name + "`"
		if c.Nullable {
			name = "isNull(" + name + "), ifNull(toString(" + name + "), '')"
		}
		columns = append(columns, name)
	}
	return strings.Join(columns, ", ")
}

func quoted(names []string) string { return "`" + strings.Join(names, "`, `") + "`" }
