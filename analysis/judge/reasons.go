package judge

import "github.com/tensortap/tensortap/schemas"

// Reasons of a verdict: why it is unknown, or why a tensor stands alone. A sort of exception that excuses any value
// (SortUninitialised, SortCast, SortIdentifier) is a reason, too.
const (
	ReasonRanksHoldDifferentValues = "ranks hold different values"
	ReasonFollowsFromRanks         = "follows from the number of ranks"
	ReasonNoWhole                  = "parts of ranks do not make a whole"
	ReasonStillAddedUp             = "was still being added up"
	ReasonOneSidedMeasure          = "not measured on both sides"
	ReasonBitsDiffer               = "bits differ"
	ReasonNotMeasured              = "not measured"
	ReasonProblemIncomplete        = "problem rank incomplete"
	ReasonBenchIncomplete          = "bench rank incomplete"
	ReasonNoStepInProblem          = "no such step in problem"
	ReasonNoStepInBench            = "no such step in bench"
	ReasonOnlyProblem              = "only in problem"
	ReasonOnlyBench                = "only in bench"
	ReasonMoreDetail               = "recorded in more detail"
)

// marks are the bits of measured that say why a tensor of merged ranks is no whole.
const marks = schemas.MergedDifferentValues | schemas.MergedFollowsFromRanks | schemas.MergedNoWhole | schemas.MergedStillAddedUp

// reason says why the numbers of a pair decide nothing, or do not count; empty where they decide.
func (c *compared) reason(numeric Numeric) string {
	measured := c.problem.Measured | c.bench.Measured
	switch {
	case excusesAnyValue(c.sort):
		return c.sort
	case numeric != NumericNone:
		return ""
	case c.marked:
		return markReason(measured)
	case c.oneSided():
		return ReasonOneSidedMeasure
	case c.digest.differs:
		return ReasonBitsDiffer
	default:
		return ReasonNotMeasured
	}
}

func markReason(measured uint32) string {
	switch {
	case measured&schemas.MergedDifferentValues != 0:
		return ReasonRanksHoldDifferentValues
	case measured&schemas.MergedFollowsFromRanks != 0:
		return ReasonFollowsFromRanks
	case measured&schemas.MergedNoWhole != 0:
		return ReasonNoWhole
	default:
		return ReasonStillAddedUp
	}
}

// reasonAlone says why a tensor has no partner.
func reasonAlone(p *Pair, at Setting) string {
	switch {
	case p.InProblem && at.BenchIncomplete:
		return ReasonBenchIncomplete
	case p.InProblem && !at.CommonStep:
		return ReasonNoStepInBench
	case p.InProblem:
		return ReasonOnlyProblem
	case at.ProblemIncomplete:
		return ReasonProblemIncomplete
	case !at.CommonStep:
		return ReasonNoStepInProblem
	default:
		return ReasonOnlyBench
	}
}
