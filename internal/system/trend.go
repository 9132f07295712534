package system

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/tensortap/tensortap/consumers/clickhouse"
)

// The copy that trends are read from, tap_store.trend, is filled by the
// database itself (049_trend_fill.sql). It can lose rows or hold some twice when the
// database is killed, and holds what was replaced since; views see that and
// read tensor instead. What is mended here is the speed.

// mendTrendEvery is how often a running system looks for such steps.
const mendTrendEvery = 10 * time.Minute

// RebuildTrend removes from the copy the steps that are not what tensor holds,
// has the database add up all that is missing, and returns how many steps it
// removed. Calls should not overlap.
func (c *Client) RebuildTrend(ctx context.Context) (removed int, err error) {
	// What is being added up just now would look as if half of it were lost. That it failed before is its own matter.
	_ = c.exec(ctx, "SYSTEM WAIT VIEW tap_store.trend_fill")
	if removed, err = c.removeWrongTrend(ctx); err != nil {
		return 0, err
	}
	return removed, c.fillTrend(ctx)
}

func (c *Client) exec(ctx context.Context, statement string) error {
	return c.database.Exec(ctx, statement)
}

// mostWrongSteps are removed by one statement: each rewrites the parts of the table that have them. More would not fit the 256 KiB
// that a statement may have.
const mostWrongSteps = 5_000

// inOrder has steps compared rank by rank as they lie, instead of all at once: the sums of all ranks and steps of a large run would not fit the memory of the engine.
const inOrder = "optimize_aggregation_in_order = 1"

// removeWrongTrend removes the steps that would be wrong.
func (c *Client) removeWrongTrend(ctx context.Context) (int, error) {
	var wrong []struct {
		Step string `ch:"step"`
	}
	err := c.database.Select(ctx, &wrong, "SELECT toString((run_id, step)) AS step FROM tap.trend_steps WHERE state = 'wrong' SETTINGS "+inOrder)
	if err != nil {
		return 0, fmt.Errorf("look for wrong steps in tap_store.trend: %w", err)
	}
	removed := 0
	for some := range slices.Chunk(wrong, mostWrongSteps) {
		steps := make([]string, len(some))
		for i := range some {
			steps[i] = some[i].Step
		}
		if err := clickhouse.DeleteRows(ctx, c.database, "trend", "(run_id, step) IN ("+strings.Join(steps, ", ")+")"); err != nil {
			return removed, fmt.Errorf("remove %d wrong steps: %w", len(some), err)
		}
		removed += len(some)
	}
	return removed, nil
}

// fillTrend has steps added up, some at a time, until there are no more.
func (c *Client) fillTrend(ctx context.Context) error {
	before, err := c.trendSteps(ctx)
	if err != nil {
		return err
	}
	for {
		for _, statement := range []string{"SYSTEM REFRESH VIEW tap_store.trend_fill", "SYSTEM WAIT VIEW tap_store.trend_fill"} {
			if err := c.exec(ctx, statement); err != nil {
				return fmt.Errorf("add up the steps that tap_store.trend lacks: %w", err)
			}
		}
		after, err := c.trendSteps(ctx)
		if err != nil || after == before {
			return err
		}
		before = after
	}
}

// trendSteps is how many steps there are in the copy.
func (c *Client) trendSteps(ctx context.Context) (uint64, error) {
	var n uint64
	err := c.database.QueryRow(ctx, "SELECT count() FROM (SELECT run_id, step FROM tap_store.trend GROUP BY run_id, step)").Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count the steps in tap_store.trend: %w", err)
	}
	return n, nil
}

// mendTrend rebuilds what needs it, at the start and from time to time, until
// ctx ends. That it cannot is no reason to stop: answers are right without it.
func (c *Client) mendTrend(ctx context.Context, log zerolog.Logger) error {
	tick := time.NewTicker(mendTrendEvery)
	defer tick.Stop()
	for {
		removed, err := c.RebuildTrend(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			log.Warn().Err(err).Msg("trends are read from the tensors themselves, which is slow")
		case removed > 0:
			log.Info().Int("steps", removed).Msg("steps of trends were wrong and were added up again")
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}
