package clickhouse

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/tensortap/tensortap/schemas"
)

// RowCounts is how many rows of measurements of one kind each run has outside of damaged parts.
func RowCounts(ctx context.Context, conn driver.Conn, kind string, damaged ...Damage) (map[uint64]uint64, error) {
	counts := map[uint64]uint64{}
	err := eachRow(ctx, conn, fmt.Sprintf("SELECT run_id, sum(row_count) FROM (SELECT run_id, rank, epoch, batch, count() AS row_count "+
		"FROM %s.%s WHERE %s GROUP BY run_id, rank, epoch, batch) GROUP BY run_id", storeDatabase, kind, Outside(damaged, kind)), func(rows driver.Rows) error {
		var run, count uint64
		err := rows.Scan(&run, &count)
		counts[run] = count
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("count the rows of table %s: %w", kind, err)
	}
	return counts, nil
}

// BatchRows is how many rows each batch of one kind and run has outside of damaged parts.
func BatchRows(ctx context.Context, conn driver.Conn, kind string, run uint64, damaged ...Damage) (map[schemas.Batches]uint64, error) {
	counts := map[schemas.Batches]uint64{}
	err := eachRow(ctx, conn, fmt.Sprintf("SELECT run_id, rank, epoch, batch, count() FROM %s.%s WHERE run_id = %d AND %s GROUP BY run_id, rank, epoch, batch",
		storeDatabase, kind, run, Outside(damaged, kind)), func(rows driver.Rows) error {
		var id schemas.Identity
		var count uint64
		err := rows.Scan(&id.RunID, &id.Rank, &id.Epoch, &id.Batch, &count)
		counts[schemas.BatchOf(kind, id)] = count
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("count the rows of each batch of table %s: %w", kind, err)
	}
	return counts, nil
}

// removedAtOnce bounds the text of a statement.
const removedAtOnce = 1000

// Remove takes batches of measurements out of the tables, all of their rows. A Writer stores them when they are written again.
func Remove(ctx context.Context, conn driver.Conn, batches []schemas.Batches) error {
	byKind := map[string][]string{}
	for _, b := range batches {
		byKind[b.Kind] = append(byKind[b.Kind], fmt.Sprintf("run_id = %d AND rank = %d AND epoch = %d AND batch BETWEEN %d AND %d", b.RunID, b.Rank, b.Epoch, b.First, b.Last))
	}
	for kind, conditions := range byKind {
		for some := range slices.Chunk(conditions, removedAtOnce) {
			if err := DeleteRows(ctx, conn, kind, "("+strings.Join(some, ") OR (")+")"); err != nil {
				return fmt.Errorf("remove %d batches: %w", len(some), err)
			}
		}
	}
	return nil
}
