package judge

import (
	"math"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

const (
	// boundingStatistics bound the error from below. Beside the norm or an extreme, the mean counts.
	boundingStatistics = wholeStatistics | schemas.MeasuredMean
	wholeStatistics    = schemas.MeasuredMin | schemas.MeasuredMax | schemas.MeasuredL2
)

// statistics are relative errors by norm, mean, maximum and minimum.
type statistics struct {
	none  bool    // nothing was measured on both sides
	error float64 // as measured; NaN where nothing was
	low   float64 // proved: less the rounding of the statistics themselves
}

// statisticsOf bounds the error from below. With x bench, y problem of n elements: |x-y| >= ||x|-|y||, >= |mean x -
// mean y| sqrt n, >= |max x - max y|, >= |min x - min y|. The first two leave room for the rounding of their sums, u
// log2 n for pairwise summation (Higham, Accuracy and Stability of Numerical Algorithms, 4.2), with the u of the
// summing source. Without a counted statistic on both sides it decides nothing.
func statisticsOf(problem, bench *rows.Observation, counted uint32, scale, sumRoundoff float64) statistics {
	both := problem.Measured & bench.Measured
	if both&counted == 0 {
		return statistics{none: true, error: math.NaN(), low: math.NaN()}
	}
	extremes, sums := deltas(problem, bench, both)
	switch {
	case extremes == 0 && sums == 0:
		return statistics{}
	case scale == 0:
		return statistics{error: math.Inf(1), low: math.Inf(1)}
	}
	rounding := float64(sumRoundoff * (1 + math.Log2(float64(1+problem.ElementCount))))
	return statistics{error: greater(extremes, sums) / scale, low: greater(extremes/scale, sums/scale-rounding)}
}

// countedStatistics are the statistics of which one must be there: for parts that only add up over merged ranks the
// mean is enough.
func (c *compared) countedStatistics() uint32 {
	if c.marked {
		return boundingStatistics
	}
	return wholeStatistics
}

// deltas are the greatest distances: of extremes, which are elements, and of sums.
func deltas(problem, bench *rows.Observation, both uint32) (extremes, sums float64) {
	if both&schemas.MeasuredMin != 0 {
		extremes = distance(problem.Min, bench.Min)
	}
	if both&schemas.MeasuredMax != 0 {
		extremes = greater(extremes, distance(problem.Max, bench.Max))
	}
	if both&schemas.MeasuredMean != 0 {
		sums = float64(distance(problem.Mean, bench.Mean) * math.Sqrt(float64(problem.ElementCount)))
	}
	if both&schemas.MeasuredL2 != 0 {
		sums = greater(sums, normDistance(problem.L2, bench.L2))
	}
	return extremes, sums
}

// distance is 0 where a side is not finite: that is left to the rule of such values.
func distance(problem, bench float64) float64 {
	if !isFinite(problem) || !isFinite(bench) {
		return 0
	}
	return math.Abs(problem - bench)
}

// normDistance is infinite where one norm overflowed, and 0 where both did.
func normDistance(problem, bench float64) float64 {
	if math.IsNaN(problem) || math.IsNaN(bench) || (math.IsInf(problem, 0) && math.IsInf(bench, 0)) {
		return 0
	}
	return math.Abs(problem - bench)
}

// scaleOf is the scale of errors: the bench's norm, or else its greatest value.
func scaleOf(problem, bench *rows.Observation, marked bool) float64 {
	switch {
	case (marked || problem.Has(schemas.MeasuredL2)) && bench.Has(schemas.MeasuredL2) && isFinite(bench.L2):
		return bench.L2
	case marked && problem.Has(schemas.MeasuredL2) && isFinite(problem.L2):
		return problem.L2
	default:
		return greater(finiteMagnitude(bench.Min), finiteMagnitude(bench.Max))
	}
}

func finiteMagnitude(x float64) float64 {
	if !isFinite(x) {
		return 0
	}
	return math.Abs(x)
}

// greater is the other one where one is NaN.
func greater(a, b float64) float64 {
	if a > b || math.IsNaN(b) {
		return a
	}
	return b
}
