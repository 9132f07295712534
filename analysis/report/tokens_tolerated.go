package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/tensortap/tensortap/internal/plural"
)

// tolerated says up to which error a token is the same, and by what. It is empty where nothing pairs.
func (t *Tokens) tolerated() string {
	measured, others := t.pairing()
	switch {
	case len(measured)+len(others) == 0:
		return ""
	case t.Asked != "":
		return t.Asked + ", as asked"
	case len(measured) == 0:
		return t.span("tolerance", others) + ", by dtype"
	}
	said := fmt.Sprintf("by run %s, which measures %s at %s: a token may differ by %s, their mean by %s", Printable(t.Calibrate),
		plural.Of(t.most("calibrated_count", measured), "token"), plural.Of(len(measured), "place"), t.span("tolerance", measured), t.span("mean_tolerance", measured))
	if len(others) > 0 {
		said += fmt.Sprintf("; at the other %s by %s, by dtype", plural.Of(len(others), "place"), t.span("tolerance", others))
	}
	return said
}

// pairing are the places at which tokens pair: those that a calibration measures, and the others.
func (t *Tokens) pairing() (measured, others []int) {
	for i := range t.Places.Rows {
		switch {
		case t.Places.Get(i, "paired_count").Number == 0:
		case t.Places.Get(i, "calibrated_count").Number > 0:
			measured = append(measured, i)
		default:
			others = append(others, i)
		}
	}
	return measured, others
}

// span is what a column of numbers has at some places: one number, or from the least to the greatest.
func (t *Tokens) span(column string, places []int) string {
	compare := func(a, b int) int { return cmp.Compare(t.Places.Get(a, column).Number, t.Places.Get(b, column).Number) }
	least, most := t.text(slices.MinFunc(places, compare), column), t.text(slices.MaxFunc(places, compare), column)
	if least == most {
		return most
	}
	return least + " to " + most
}

func (t *Tokens) most(column string, places []int) int {
	most := 0.0
	for _, i := range places {
		most = max(most, t.Places.Get(i, column).Number)
	}
	return int(most)
}
