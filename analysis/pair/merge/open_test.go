package merge

import (
	"testing"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

func TestSumIsOpenInOneRunAlone(t *testing.T) {
	t.Parallel()
	definitions := rows.NewDefinitions()
	of := func(shape []int64, firsts ...float32) []rows.Observation {
		layout := schemas.LayoutRow{Kind: kindTensor, Dtype: "torch.bfloat16", Shape: shape}
		layout.LayoutID = schemas.LayoutID(&layout)
		definitions.AddLayout(&layout)
		list := make([]rows.Observation, len(firsts))
		for i, first := range firsts {
			list[i] = rows.Observation{LayoutID: layout.LayoutID, ElementCount: 8, L2: float64(first), Sketch: []float32{first, 1}}
		}
		return list
	}
	whole, half := []int64{2, 4}, []int64{2, 2}
	for _, c := range []struct {
		name       string
		own, other []rows.Observation
		want       bool
	}{
		{"parts beside copies", of(whole, 1, 2), of(whole, 3, 3), true},
		{"parts beside parts", of(whole, 1, 2), of(whole, 1, 2), false},
		{"copies beside parts", of(whole, 3, 3), of(whole, 1, 2), false},
		{"copies beside copies", of(whole, 3, 3), of(whole, 4, 4), false},
		{"shards beside copies", of(half, 1, 2), of(whole, 3, 3), false},
		{"a rank that lacks it", nil, of(whole, 3, 3), false},
	} {
		sum := OpenSum(c.own, c.other, definitions)
		if (sum != nil) != c.want {
			t.Errorf("%s: sum %+v", c.name, sum)
		}
		if sum != nil && (sum.Sketch[0] != 3 || sum.Sketch[1] != 2 || sum.Measured&schemas.MergedDifferentValues == 0) {
			t.Errorf("%s: sum %+v, want the sketches' sum, marked", c.name, sum)
		}
	}
}
