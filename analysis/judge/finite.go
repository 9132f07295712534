package judge

import (
	"math"

	"github.com/tensortap/tensortap/analysis/rows"
)

// finiteness says on which sides there is NaN or infinity.
type finiteness struct {
	problem, bench bool
	alike          bool // as many of each on both sides, as far as was measured
	mask           bool // minus infinity where it is no fault
}

// isFault says whether there is NaN or infinity beside the same mask on both sides.
func (f finiteness) isFault() bool { return (f.problem || f.bench) && (!f.same() || !f.mask) }

// same says whether both sides have the same NaN and infinity.
func (f finiteness) same() bool { return f.alike && f.problem && f.bench }

func (f finiteness) side() Side {
	side := SideNone
	if f.problem {
		side |= SideProblem
	}
	if f.bench {
		side |= SideBench
	}
	return side
}

func finitenessOf(problem, bench *rows.Observation, sort string) finiteness {
	return finiteness{
		problem: !problem.Finite(), bench: !bench.Finite(),
		alike: sameCounts(problem, bench) && sameInfinity(problem.Min, bench.Min) && sameInfinity(problem.Max, bench.Max),
		mask:  sort == SortNegativeInfinity && onlyNegativeInfinity(problem, bench),
	}
}

func sameCounts(problem, bench *rows.Observation) bool {
	return problem.NaNCount == bench.NaNCount && problem.PositiveInfinityCount == bench.PositiveInfinityCount &&
		problem.NegativeInfinityCount == bench.NegativeInfinityCount
}

// sameInfinity says whether two extremes are both finite, or NaN, or the same infinity.
func sameInfinity(problem, bench float64) bool {
	if math.IsNaN(problem) != math.IsNaN(bench) {
		return false
	}
	return problem == bench || !(math.IsInf(problem, 0) || math.IsInf(bench, 0))
}

func onlyNegativeInfinity(problem, bench *rows.Observation) bool {
	others := problem.NaNCount + bench.NaNCount + problem.PositiveInfinityCount + bench.PositiveInfinityCount
	return others == 0 && !math.IsNaN(problem.Min) && problem.Max < math.Inf(1)
}

func isFinite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
