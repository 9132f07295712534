package system

import (
	"context"
	"maps"
	"slices"

	"github.com/tensortap/tensortap/consumers/clickhouse"
	"github.com/tensortap/tensortap/schemas"
)

// runOfKind is a run's share of a table.
type runOfKind struct {
	kind string
	run  uint64
}

func runOf(b schemas.Batches) runOfKind { return runOfKind{b.Kind, b.RunID} }

// addPartial notes the batches of which the tables have another number of rows than the archive. Sums tell where to look:
// only there the rows of each batch are counted, and the archive is read once for all runs.
func (c *Client) addPartial(ctx context.Context, a *account) error {
	for _, kind := range measuredKinds(a.rows) {
		stored, err := clickhouse.RowCounts(ctx, c.database, kind, a.partsDamaged...)
		if err != nil {
			return err
		}
		counts := map[schemas.Batches]uint64{}
		for of, count := range a.rows {
			if of.kind != kind || stored[of.run] == count || stored[of.run] == 0 {
				continue
			}
			if err := c.countBatches(ctx, a, of, counts); err != nil {
				return err
			}
		}
		if err := c.addPartialOf(ctx, a, kind, counts); err != nil {
			return err
		}
	}
	return nil
}

func measuredKinds(rows map[runOfKind]uint64) []string {
	kinds := map[string]bool{}
	for of := range rows {
		if table, known := schemas.TableByKind(of.kind); known && table.Class == schemas.Measurement {
			kinds[of.kind] = true
		}
	}
	return slices.Sorted(maps.Keys(kinds))
}

// countBatches adds how many rows the tables have of each batch of a run, unless together they are those of the archive.
func (c *Client) countBatches(ctx context.Context, a *account, of runOfKind, counts map[schemas.Batches]uint64) error {
	stored, err := clickhouse.BatchRows(ctx, c.database, of.kind, of.run, a.partsDamaged...)
	if err != nil {
		return err
	}
	sum := uint64(0)
	for batch, count := range stored {
		if a.archive.Has(batch) { // others came since
			sum += count
		}
	}
	if sum != a.rows[of] {
		maps.Copy(counts, stored)
	}
	return nil
}

func (c *Client) addPartialOf(ctx context.Context, a *account, kind string, counts map[schemas.Batches]uint64) error {
	if len(counts) == 0 {
		return nil
	}
	for message, err := range archived(ctx, a.archiveIn, kind) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			continue // who reads the checksums names damaged files
		}
		batch := schemas.BatchOf(kind, message.Header.Identity)
		if count := counts[batch]; count > 0 && count != uint64(message.Header.Rows) { //nolint:gosec // at least 1
			a.partial.Add(batch)
		}
	}
	return nil
}
