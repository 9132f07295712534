package merge

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

const everything = 1<<10 - 1 // all statistics but subnormal_count

// measure is a rank's report on the elements of a tensor.
func measure(elements []float64) rows.Observation {
	o := rows.Observation{Measured: everything, ElementCount: uint64(len(elements)), Min: math.Inf(1), Max: math.Inf(-1)}
	var finite []float64
	for _, v := range elements {
		switch {
		case math.IsNaN(v):
			o.NaNCount++
		case math.IsInf(v, 1):
			o.PositiveInfinityCount++
		case math.IsInf(v, -1):
			o.NegativeInfinityCount++
		default:
			finite = append(finite, v)
		}
	}
	var squares float64
	for _, v := range finite {
		o.Min, o.Max = min(o.Min, v), max(o.Max, v)
		o.Mean += v / float64(len(finite))
		squares += v * v
		o.L1 += math.Abs(v)
		if v == 0 {
			o.ZeroCount++
		}
	}
	for _, v := range finite {
		o.M2 += (v - o.Mean) * (v - o.Mean)
	}
	o.L2 = math.Sqrt(squares)
	return o
}

// randomElements have any size, around any mean; some are 0 or not finite.
func randomElements(random *rand.Rand, count int) []float64 {
	elements := make([]float64, count)
	mean, deviation := 1000*random.NormFloat64(), math.Exp(4*random.NormFloat64())
	for i := range elements {
		elements[i] = mean + deviation*random.NormFloat64()
		switch random.IntN(20) {
		case 0:
			elements[i] = 0
		case 1:
			elements[i] = []float64{math.NaN(), math.Inf(1), math.Inf(-1)}[random.IntN(3)]
		}
	}
	return elements
}

// cutTensor returns the ranks' parts of a tensor of rows and columns, cut at these places of one dimension.
func cutTensor(elements []float64, shape [2]int, dimension int, cuts []int) *parts {
	p := &parts{members: int64(len(cuts) - 1), otherSize: 1}
	for i := range len(cuts) - 1 {
		var part []float64
		for at, v := range elements {
			if along := [2]int{at / shape[1], at % shape[1]}[dimension]; along >= cuts[i] && along < cuts[i+1] {
				part = append(part, v)
			}
		}
		l := &schemas.LayoutRow{LayoutID: uint64(i), Kind: kindTensor, Dtype: "torch.float64", Shape: []int64{int64(shape[0]), int64(shape[1])}}
		l.Shape[dimension] = int64(cuts[i+1] - cuts[i])
		p.list, p.layouts = append(p.list, measure(part)), append(p.layouts, l)
	}
	return p
}

func TestStatisticsOfShardsMergeToThoseOfTheWhole(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		shape := [2]int{3 + random.IntN(30), 3 + random.IntN(30)}
		dimension := random.IntN(2)
		size := shape[dimension]
		first := 1 + random.IntN(size-2)
		cuts := []int{0, first, first + 1 + random.IntN(size-1-first), size} // three parts, none empty
		elements := randomElements(random, shape[0]*shape[1])
		p := cutTensor(elements, shape, dimension, cuts)
		p.found, p.other = true, &schemas.LayoutRow{Kind: kindTensor, Shape: []int64{int64(shape[0]), int64(shape[1])}}
		checkWhole(t, p.whole(), measure(elements), p.other.Shape)
	}
}

func checkWhole(t *testing.T, got whole, want rows.Observation, shape []int64) {
	t.Helper()
	if got.sort != shards || !slices.Equal(got.shape, shape) || got.ElementCount != want.ElementCount || got.ZeroCount != want.ZeroCount ||
		got.NaNCount != want.NaNCount || got.PositiveInfinityCount != want.PositiveInfinityCount || got.NegativeInfinityCount != want.NegativeInfinityCount {
		t.Errorf("merged to %+v, want %v of shape %v", got, want, shape)
	}
	for _, v := range [][2]float64{
		{got.ValueMin, want.Min},
		{got.ValueMax, want.Max},
		{got.ValueMean, want.Mean},
		{got.ValueM2, want.M2},
		{got.ValueL2, want.L2},
		{got.ValueL1, want.L1},
	} {
		// The mean of values around 0 is a difference of larger ones.
		scale := max(math.Abs(v[1]), want.L2/math.Sqrt(float64(want.ElementCount)))
		if math.Abs(v[0]-v[1]) > 1e-12*scale {
			t.Errorf("merged to %g, of the whole %g", v[0], v[1])
		}
	}
}

func TestNumbersInText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]int64{
		"":                        nil,
		"4":                       {4},
		"-4":                      {-4},
		"torch.Size([2, -8])":     {2, -8},
		"1-2":                     {1, -2},
		"99999999999999999999, 3": {0, 3},
	} {
		if got := numbersIn(text); !slices.Equal(got, want) {
			t.Errorf("numbersIn(%q) is %v, want %v", text, got, want)
		}
	}
}

func TestTensorsOfSeveralRanksAreGatheredBySite(t *testing.T) {
	t.Parallel()
	sites := func(list ...uint64) *rows.Tensors { return &rows.Tensors{SiteID: list} }
	run := runOf([]schemas.RankRow{{Rank: 4, TP: 0, TPSize: 3}, {Rank: 5, TP: 1, TPSize: 3}, {Rank: 6, TP: 2, TPSize: 3}})
	m := New(run, runOf(nil), 0, rows.NewDefinitions())
	got := gather(&m.groups[0], 0, map[rows.Place]*rows.Tensors{
		{Rank: 4}: sites(11, 12, 11), {Rank: 5}: sites(12, 13, 11), {Rank: 6}: sites(13, 11, 11),
	})
	want := [][]int32{{0, 1, 2, none}, {2, 0, none, 1}, {1, none, 2, 0}}
	for rank := range want {
		if !slices.Equal(got.rows[rank], want[rank]) {
			t.Errorf("rows of rank %d: %v, want %v", got.ranks[rank], got.rows[rank], want[rank])
		}
	}
}
