package compare

import (
	"slices"

	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/analysis/rows"
)

// leftOut are the steps that only one run has, as the other left them out for its budget of time or its conditions.
type leftOut struct {
	problem, bench pair.LeftOut
	partner        map[uint32]uint32 // ranks of the bench, by that of the problem
	offset         int64
	of             [2]map[uint32]bool // steps that the problem left out, and that the bench did
}

// WithoutLeftOut gives the places that both runs can have, and how many steps the problem and the bench left out. Steps
// that pair by their requests have numbers that say nothing of the other run.
func WithoutLeftOut(places []pair.Step, problem, bench *rows.Run, ranks []pair.Ranks, offset int64) (kept []pair.Step, left report.LeftOut) {
	if len(problem.LeftOut)+len(bench.LeftOut) == 0 || len(problem.Requests) > 0 && len(bench.Requests) > 0 {
		return places, report.LeftOut{}
	}
	l := leftOut{
		problem: pair.StepsLeftOut(problem), bench: pair.StepsLeftOut(bench), partner: map[uint32]uint32{}, offset: offset,
		of: [2]map[uint32]bool{{}, {}},
	}
	for _, r := range ranks {
		l.partner[r.Problem] = r.Bench
	}
	kept = slices.DeleteFunc(slices.Clone(places), l.take)
	return kept, report.LeftOut{Problem: len(l.of[0]), Bench: len(l.of[1])}
}

// take counts a place that the other run left out.
func (l *leftOut) take(at pair.Step) bool {
	switch {
	case at.InProblem == at.InBench || l.isInPart(at):
		return false
	case at.InBench && l.problem.Has(at.Rank, int64(at.Step)):
		l.of[0][at.Step] = true
	case at.InProblem && l.benchHas(at):
		l.of[1][at.Step] = true
	default:
		return false
	}
	return true
}

// isInPart says whether the losses alone are recorded, as one was not finite: nobody is to pass over that.
func (l *leftOut) isInPart(at pair.Step) bool {
	return at.InProblem && l.problem.InPart(rows.Place{Rank: at.Rank, Step: at.Step}) ||
		at.InBench && l.bench.InPart(rows.Place{Rank: at.BenchRank, Step: at.BenchStep})
}

func (l *leftOut) benchHas(at pair.Step) bool {
	rank, paired := l.partner[at.Rank]
	return paired && l.bench.Has(rank, int64(at.Step)+l.offset)
}
