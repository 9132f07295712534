package system

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tensortap/tensortap/analysis/ask"
	"github.com/tensortap/tensortap/analysis/rows/store"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// Of a step that the tables lost whole they cannot tell. The stream's claims can: they say what was published, and stand in
// another store.

// source reads the runs of the database.
func (c *Client) source() *store.Source {
	source := store.Open(c.database)
	source.Unstored = c.unstored
	return source
}

// unstored counts, rank by rank, the steps of a run that were published from files and are not stored.
func (c *Client) unstored(ctx context.Context, run uint64) (map[uint32]uint64, error) {
	lost, err := pipelines.Finished(ctx, c.stream, schemas.FormatID(run))
	if err != nil {
		return nil, err
	}
	ofRun := fmt.Sprintf("run_id = %d", run)
	if err := c.removeStored(ctx, lost, ofRun); err != nil || len(lost) == 0 {
		return nil, err
	}
	// They may be on their way. What is behind for longer is not stored, indeed.
	if err := c.WaitCurrent(ctx); err != nil && ctx.Err() != nil {
		return nil, err
	}
	if err := c.removeStored(ctx, lost, ofRun); err != nil {
		return nil, err
	}
	return countRanks(lost)
}

// countRanks counts the keys of each rank.
func countRanks(keys map[string]uint32) (map[uint32]uint64, error) {
	counts := map[uint32]uint64{}
	for key := range keys {
		rank, err := strconv.ParseUint(strings.Split(key, ".")[1], 10, 32)
		if err != nil {
			return nil, fmt.Errorf("key %q of bucket %s: %w", key, pipelines.SourceBucket, err)
		}
		counts[uint32(rank)]++
	}
	return counts, nil
}

// Unstored are the counts of some runs as the report completeness takes them.
func (c *Client) Unstored(ctx context.Context, runs ...string) (string, error) {
	var counted []string
	for _, run := range runs {
		id := schemas.RunID(run)
		counts, err := c.unstored(ctx, id)
		if err != nil {
			return "", fmt.Errorf("look which steps of run %s are stored: %w", run, err)
		}
		for _, rank := range slices.Sorted(maps.Keys(counts)) {
			counted = append(counted, fmt.Sprintf("(%d,%d,%d)", id, rank, counts[rank]))
		}
	}
	return "[" + strings.Join(counted, ",") + "]", nil
}

// Gaps lists, rank by rank, the missing parts of these runs; empty when all is stored.
func (c *Client) Gaps(ctx context.Context, runs ...string) ([]string, error) {
	if len(runs) == 0 {
		return nil, nil
	}
	unstored, err := c.Unstored(ctx, runs...)
	if err != nil {
		return nil, err
	}
	table, err := c.Report(ctx, "completeness", map[string]string{"run": runs[0], "others": ask.Texts(runs[1:]), "unstored": unstored})
	if err != nil {
		return nil, err
	}
	return table.Gaps(), nil
}
