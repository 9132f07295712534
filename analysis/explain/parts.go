package explain

import (
	"cmp"
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tensortap/tensortap/analysis/compare"
	"github.com/tensortap/tensortap/analysis/internal/column"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// Part is what one rank held of a tensor, or other argument, of the op, where ranks of the problem were merged.
type Part struct {
	rows.Observation
	Rank       uint32
	Role, Path string
	Layout     *schemas.LayoutRow // never nil
}

// partsOf are those of the ranks that became the one of a place, by tensor, then rank; none where none were merged.
func partsOf(ctx context.Context, job *compare.Job, at rows.Place, op string) ([]Part, error) {
	held, err := job.Held(ctx, at)
	if err != nil {
		return nil, err
	}
	definitions := job.Definitions()
	var parts []Part
	for of, tensors := range held {
		for i := range tensors.Len() {
			if site := definitions.Sites[tensors.SiteID[i]]; site.OpID == schemas.OpID(op) {
				row := tensors.At(i)
				parts = append(parts, Part{row, of.Rank, site.Role, site.Path, definitions.LayoutOrZero(row.LayoutID)})
			}
		}
	}
	slices.SortFunc(parts, func(a, b Part) int {
		return cmp.Or(cmp.Compare(a.MicroStep, b.MicroStep), cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Role, b.Role),
			cmp.Compare(a.Path, b.Path), cmp.Compare(a.Rank, b.Rank))
	})
	return parts, nil
}

// partTable are parts as Arrow columns.
func partTable(parts []Part) arrow.RecordBatch {
	number := func(name string, bit uint32, get func(*Part) float64) column.Of[Part] {
		return column.Floats(name, func(p *Part) (float64, bool) { return get(p), p.Has(bit) })
	}
	return column.Record([]column.Of[Part]{
		column.Uint32s("rank", func(p *Part) uint32 { return p.Rank }),
		column.Uint16s("micro_step", func(p *Part) uint16 { return p.MicroStep }),
		column.Text("role", func(p *Part) string { return p.Role }),
		column.Text("path", func(p *Part) string { return p.Path }),
		column.Text("dtype", func(p *Part) string { return p.Layout.Dtype }),
		column.Sizes("shape", func(p *Part) []int64 { return p.Layout.Shape }),
		column.Text("literal", func(p *Part) string { return p.Layout.Literal }),
		column.Uint64s("element_count", func(p *Part) uint64 { return p.ElementCount }),
		number("value_min", schemas.MeasuredMin, func(p *Part) float64 { return p.Min }),
		number("value_max", schemas.MeasuredMax, func(p *Part) float64 { return p.Max }),
		number("value_mean", schemas.MeasuredMean, func(p *Part) float64 { return p.Mean }),
		number("value_l2", schemas.MeasuredL2, func(p *Part) float64 { return p.L2 }),
		column.Uint64s("not_finite_count", func(p *Part) uint64 { return p.NotFinite() }),
		// As report parts has them: there is no whole here to hold a part against.
		column.Truths("beyond", func(p *Part) bool { return p.NotFinite() > 0 }),
		column.Floats("deviation", func(*Part) (float64, bool) { return 0, false }),
	}, parts)
}
