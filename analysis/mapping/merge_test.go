package mapping_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tensortap/tensortap/analysis/mapping"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

const everything = schemas.MeasuredMin | schemas.MeasuredMax | schemas.MeasuredMean | schemas.MeasuredM2 | schemas.MeasuredL2 |
	schemas.MeasuredL1 | schemas.MeasuredNaN | schemas.MeasuredPositiveInfinity | schemas.MeasuredNegativeInfinity | schemas.MeasuredZero

// observe measures values the plain way, finite ones only, as the collector does.
func observe(values []float64) rows.Observation {
	o := rows.Observation{Measured: everything, ElementCount: uint64(len(values)), Digest: 7, DigestKind: schemas.DigestTap, Sketch: []float32{1}}
	var finite []float64
	for _, v := range values {
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
	for i, v := range finite {
		if i == 0 {
			o.Min, o.Max = v, v
		}
		o.Min, o.Max = min(o.Min, v), max(o.Max, v)
		o.Mean += v / float64(len(finite))
		o.L1 += math.Abs(v)
		o.L2 = math.Hypot(o.L2, v)
		if v == 0 {
			o.ZeroCount++
		}
	}
	for _, v := range finite {
		o.M2 += (v - o.Mean) * (v - o.Mean)
	}
	return o
}

func near(a, b float64) bool {
	return a == b || math.Abs(a-b) <= 1e-12*math.Max(math.Abs(a), math.Abs(b)) || math.IsNaN(a) && math.IsNaN(b)
}

func TestMergeIsWhatTheWholeWouldGive(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var all []float64
		var parts []rows.Observation
		for range 1 + random.IntN(4) {
			values := make([]float64, random.IntN(40))
			for i := range values {
				values[i] = 100 + random.NormFloat64()
				if random.IntN(20) == 0 {
					values[i] = []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0}[random.IntN(4)]
				}
			}
			all, parts = append(all, values...), append(parts, observe(values))
		}
		got, want := mapping.Merge(parts), observe(all)
		if got.ElementCount != want.ElementCount || got.NaNCount != want.NaNCount || got.PositiveInfinityCount != want.PositiveInfinityCount ||
			got.NegativeInfinityCount != want.NegativeInfinityCount || got.ZeroCount != want.ZeroCount || got.Measured != want.Measured {
			t.Fatalf("counts: got %+v, want %+v", got, want)
		}
		for name, pair := range map[string][2]float64{
			"mean": {got.Mean, want.Mean}, "m2": {got.M2, want.M2}, "l1": {got.L1, want.L1}, "l2": {got.L2, want.L2},
		} {
			if !near(pair[0], pair[1]) && math.Abs(pair[0]-pair[1]) > 1e-9 {
				t.Fatalf("%s = %v, want %v", name, pair[0], pair[1])
			}
		}
		if got.DigestKind != schemas.DigestNone || got.Digest != 0 || got.Sketch != nil {
			t.Fatal("digest or sketch of a part is left")
		}
	}
}

func TestMergeKeepsExtremesOfPartsThatHoldNothingFinite(t *testing.T) {
	t.Parallel()
	a := rows.Observation{Measured: everything, ElementCount: 2, Min: -1, Max: 3, L2: 1e200}
	b := rows.Observation{Measured: everything &^ schemas.MeasuredL1, ElementCount: 1, Min: math.NaN(), Max: math.Inf(1), L2: 1e200}
	got := mapping.Merge([]rows.Observation{a, b})
	if !math.IsNaN(got.Min) || !math.IsInf(got.Max, 1) || got.Has(schemas.MeasuredL1) {
		t.Errorf("got %+v", got)
	}
	if !near(got.L2, math.Sqrt2*1e200) {
		t.Errorf("l2 = %v, want %v", got.L2, math.Sqrt2*1e200)
	}
	nothing := rows.Observation{Measured: everything}
	if got := mapping.Merge([]rows.Observation{nothing, a}); got.Min != -1 || got.Max != 3 {
		t.Errorf("behind an empty part: %v to %v, want -1 to 3", got.Min, got.Max)
	}
	a.L2, b.L2 = math.Inf(1), math.Inf(1)
	if got := mapping.Merge([]rows.Observation{a, b}); !math.IsInf(got.L2, 1) {
		t.Errorf("l2 of infinite ones = %v", got.L2)
	}
	b.L2 = math.NaN()
	if got := mapping.Merge([]rows.Observation{a, b}); !math.IsNaN(got.L2) {
		t.Errorf("l2 with NaN = %v", got.L2)
	}
}
