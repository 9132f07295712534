package mapping

import (
	"slices"
	"testing"
)

func TestShapesAreConcatenatedWhereTheOtherDimensionsAreTheSame(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		shapes [][]int64
		along  int
		want   []int64
	}{
		{[][]int64{{4, 8}, {2, 8}, {2, 8}}, 0, []int64{8, 8}},
		{[][]int64{{8, 4}, {8, 2}}, 1, []int64{8, 6}},
		{[][]int64{{4}, {2}}, 1, []int64{6}},
		{[][]int64{{2, 3, 4}, {2, 3, 5}}, lastDimension, []int64{2, 3, 9}},
		{[][]int64{{4, 8}, {2, 7}}, 0, nil},
		{[][]int64{{4, 8}, {2}}, 0, nil},
		{[][]int64{{}, {}}, 0, nil},
	} {
		if got, ok := concatenatedShape(c.shapes, c.along); ok != (c.want != nil) || ok && !slices.Equal(got, c.want) {
			t.Errorf("concatenatedShape(%v, %d) = %v, %v, want %v", c.shapes, c.along, got, ok, c.want)
		}
	}
}

func TestAFlattenedShapeIsTheSameForBatchesAndTokens(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ batch, tokens []int64 }{
		{[]int64{1, 32, 128}, []int64{32, 128}},
		{[]int64{2, 16, 128}, []int64{32, 128}},
		{[]int64{1, 1, 128}, []int64{1, 128}},
		{[]int64{1, 32}, []int64{32}},
		{[]int64{}, []int64{}},
	} {
		if got, want := flattened(c.batch), flattened(c.tokens); !slices.Equal(got, want) {
			t.Errorf("%v becomes %v, %v becomes %v", c.batch, got, c.tokens, want)
		}
	}
}
