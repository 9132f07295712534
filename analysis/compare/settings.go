package compare

import (
	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// settings says of each place what a tensor without partner is told by.
type settings struct {
	problem, bench *rows.Run
	missing        [2]map[uint32]bool // ranks of the problem of which, or of whose partner, something is missing
	partner        map[uint32]bool    // ranks of the problem that have a partner
}

func newSettings(problem, bench *rows.Run, ranks []pair.Ranks) settings {
	s := settings{problem: problem, bench: bench, missing: [2]map[uint32]bool{{}, {}}, partner: map[uint32]bool{}}
	missing := [2]map[uint32]bool{incomplete(problem), incomplete(bench)}
	for _, r := range ranks {
		s.partner[r.Problem] = true
		s.missing[0][r.Problem] = s.missing[0][r.Problem] || missing[0][r.Problem]
		s.missing[1][r.Problem] = s.missing[1][r.Problem] || missing[1][r.Bench]
	}
	return s
}

func incomplete(run *rows.Run) map[uint32]bool {
	ranks := map[uint32]bool{}
	for i := range run.Missing {
		if !run.Missing[i].Complete {
			ranks[run.Missing[i].Rank] = true
		}
	}
	return ranks
}

// of is the setting of a place whose tensors were read.
func (s settings) of(at pair.Step) judge.Setting {
	p := s.problem.StepAt(rows.Place{Rank: at.Rank, Step: at.Step})
	b := s.bench.StepAt(rows.Place{Rank: at.BenchRank, Step: at.BenchStep})
	if !at.InProblem {
		p = nil
	}
	if !at.InBench {
		b = nil
	}
	return judge.Setting{
		ProblemIncomplete: lacks(p, at.ProblemRows, s.missing[0][at.Rank]), BenchIncomplete: lacks(b, at.BenchRows, s.missing[1][at.Rank]),
		CommonStep: s.partner[at.Rank] && p != nil && b != nil,
	}
}

// lacks says whether something is missing of a step: of one that has ended, of the step itself; of another, whether
// anything is missing of its rank, which may be the step.
func lacks(step *schemas.StepRow, tensors uint64, rank bool) bool {
	if step == nil {
		return rank
	}
	return step.Complete == 0 || step.DroppedCount > 0 || tensors < step.TensorCount
}
