package result

import (
	"cmp"
	"slices"

	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/pair"
)

// topDifferences keeps the first rows that differ.
type topDifferences struct {
	limit int
	rows  []placedRow // in their order
}

// placedRow is a pair with its place.
type placedRow struct {
	at  pair.Step
	row judge.Judged
}

// wants says whether rows of that place can be among the first ones.
func (t *topDifferences) wants(at pair.Step) bool {
	return len(t.rows) < t.limit || t.limit > 0 && at.Step <= t.rows[len(t.rows)-1].at.Step
}

// take adds the rows of a place.
func (t *topDifferences) take(at pair.Step, differing []judge.Judged) {
	if len(differing) == 0 || !t.wants(at) {
		return
	}
	for i := range differing {
		t.rows = append(t.rows, placedRow{at, differing[i]})
	}
	t.rows = firstRows(t.rows, t.limit)
}

// firstRows are the first rows by step, place in the rank's order, rank, micro step and site.
func firstRows(rows []placedRow, limit int) []placedRow {
	slices.SortFunc(rows, func(a, b placedRow) int {
		x, y := a.row.Own(), b.row.Own()
		return cmp.Or(cmp.Compare(a.at.Step, b.at.Step), cmp.Compare(x.Seq, y.Seq), cmp.Compare(a.at.Rank, b.at.Rank),
			cmp.Compare(x.MicroStep, y.MicroStep), cmp.Compare(x.SiteID, y.SiteID))
	})
	if len(rows) > limit {
		clear(rows[limit:])
		rows = rows[:limit]
	}
	return rows
}

// divergence is the first rows that differ: without texts, unless texts are asked for or nothing else differs.
func (c *Collector) divergence() []Difference {
	shown := c.differs.rows
	if c.options.Texts || len(shown) == 0 {
		shown = firstRows(slices.Concat(shown, c.texts.rows), c.options.Limit)
	}
	differences := make([]Difference, len(shown))
	for i := range shown {
		differences[i] = *c.names.difference(shown[i].at, &shown[i].row)
	}
	return differences
}
