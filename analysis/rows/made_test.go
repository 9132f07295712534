package rows_test

import (
	"testing"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

func TestLayoutsThatWereMadeAreFoundLikeOthers(t *testing.T) {
	t.Parallel()
	d := rows.NewDefinitions()
	d.Layouts[1] = &schemas.LayoutRow{LayoutID: 1, Kind: "int"}
	d.AddLayout(&schemas.LayoutRow{LayoutID: 2, Kind: "tensor"})
	if l := d.Layout(1); l == nil || l.Kind != "int" {
		t.Errorf("the recorded one is %v", l)
	}
	if l := d.Layout(2); l == nil || l.Kind != "tensor" {
		t.Errorf("the made one is %v", l)
	}
	if l := d.Layout(3); l != nil {
		t.Errorf("one that nobody knows is %v", l)
	}
}
