package system

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tensortap/tensortap/internal/plural"
	"github.com/tensortap/tensortap/schemas"
)

// mostNamed is how many of many runs an error names.
const mostNamed = 10

// describe says of which runs and kinds batches are; empty where there are none.
func (c *Client) describe(ctx context.Context, all *schemas.Ledger) string {
	if all.Count() == 0 {
		return ""
	}
	names := c.namesByID(ctx)
	counts := map[string]map[string]uint64{} // by run, by kind
	for _, b := range all.All() {
		id := schemas.FormatID(b.RunID)
		run := cmp.Or(names[id], id)
		if counts[run] == nil {
			counts[run] = map[string]uint64{}
		}
		counts[run][b.Kind] += b.Count()
	}
	var texts []string
	for _, run := range slices.Sorted(maps.Keys(counts)) {
		texts = append(texts, "run "+run+": "+describeKinds(counts[run]))
	}
	if more := len(texts) - mostNamed; more > 0 {
		texts = append(texts[:mostNamed], plural.Of(more, "more run"))
	}
	return strings.Join(texts, "; ")
}

func describeKinds(counts map[string]uint64) string {
	var texts []string
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		texts = append(texts, fmt.Sprintf("%s %d", kind, counts[kind]))
	}
	return "batches of " + strings.Join(texts, ", ")
}

// namesByID are the names of runs by their ids, as far as tables or archive know them: an id says less, but enough.
func (c *Client) namesByID(ctx context.Context) map[string]string {
	archived, _ := ArchivedRuns(c.Endpoint.Folder)
	names := make(map[string]string, len(archived))
	for _, name := range archived {
		names[schemas.FormatID(schemas.RunID(name))] = name
	}
	table, _ := c.Table(ctx, "SELECT DISTINCT name FROM tap_store.run", nil)
	for i := range table.Rows {
		name := table.Get(i, "name").Exact
		names[schemas.FormatID(schemas.RunID(name))] = name
	}
	return names
}
