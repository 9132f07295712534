package system

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tensortap/tensortap/consumers/clickhouse"
	"github.com/tensortap/tensortap/internal/plural"
	"github.com/tensortap/tensortap/schemas"
)

// What the stream lost with its end before any store had it is known by the claims, which the server keeps apart from it.

// stepsQuery is which steps are stored.
const stepsQuery = `SELECT run_id, rank, step, max(tap_store.step.generation) AS generation FROM tap_store.step WHERE %s GROUP BY run_id, rank, step`

// addVanished notes what was published before the tables were looked at, and is not there. Of a run of which something was
// refused, or is lost and can be made again, nobody knows which.
func (c *Client) addVanished(ctx context.Context, a *account) error {
	if err := c.removeStored(ctx, a.finished, clickhouse.Outside(a.partsDamaged, schemas.Step().Kind())); err != nil {
		return err
	}
	known := map[string]bool{}
	for _, b := range append(a.tablesLack().All(), a.refused[databaseConsumer].All()...) {
		known[schemas.FormatID(b.RunID)] = true
	}
	for key := range a.finished {
		run, _, _ := strings.Cut(key, ".")
		if !known[run] {
			a.vanished = append(a.vanished, key)
		}
	}
	slices.Sort(a.vanished)
	return nil
}

// removeStored leaves of what was published, by key with the greatest generation, what no row of the tables under that
// condition has.
func (c *Client) removeStored(ctx context.Context, published map[string]uint32, where string) error {
	if len(published) == 0 {
		return nil
	}
	var rows []claimRow
	if err := c.database.Select(ctx, &rows, fmt.Sprintf(stepsQuery, where)); err != nil {
		return fmt.Errorf("read which steps are stored: %w", err)
	}
	for _, r := range rows {
		if key := r.claim().Key(); published[key] <= r.Generation {
			delete(published, key)
		}
	}
	return nil
}

// describeVanished names runs, and how many steps of ranks of each.
func (c *Client) describeVanished(ctx context.Context, a *account) string {
	if len(a.vanished) == 0 {
		return ""
	}
	names, counts := c.namesByID(ctx), map[string]int{}
	var texts []string
	for _, key := range a.vanished {
		run, _, _ := strings.Cut(key, ".")
		counts[cmp.Or(names[run], run)]++
	}
	for run, count := range counts {
		texts = append(texts, fmt.Sprintf("run %s: %s of ranks", run, plural.Of(count, "step")))
	}
	slices.Sort(texts)
	if more := len(texts) - mostNamed; more > 0 {
		texts = append(texts[:mostNamed], plural.Of(more, "more run"))
	}
	return strings.Join(texts, "; ")
}
