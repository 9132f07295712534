package compare

import (
	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/rows"
)

// settings says of each place what a tensor without partner is told by.
type settings struct {
	problem, bench map[uint32]bool        // ranks of the problem of which, or of whose partner, something is missing
	partner        map[uint32]bool        // ranks of the problem that have a partner
	ended          [2]map[rows.Place]bool // steps of either run
}

func newSettings(problem, bench *rows.Run, ranks []pair.Ranks) settings {
	s := settings{problem: map[uint32]bool{}, bench: map[uint32]bool{}, partner: map[uint32]bool{}}
	missing := [2]map[uint32]bool{incomplete(problem), incomplete(bench)}
	for _, r := range ranks {
		s.partner[r.Problem] = true
		s.problem[r.Problem] = s.problem[r.Problem] || missing[0][r.Problem]
		s.bench[r.Problem] = s.bench[r.Problem] || missing[1][r.Bench]
	}
	s.ended = [2]map[rows.Place]bool{ended(problem), ended(bench)}
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

func ended(run *rows.Run) map[rows.Place]bool {
	places := make(map[rows.Place]bool, len(run.Steps))
	for i := range run.Steps {
		places[rows.Place{Rank: run.Steps[i].Rank, Step: run.Steps[i].Step}] = true
	}
	return places
}

func (s settings) of(at pair.Step) judge.Setting {
	return judge.Setting{
		ProblemIncomplete: s.problem[at.Rank], BenchIncomplete: s.bench[at.Rank],
		CommonStep: at.InProblem && at.InBench && s.partner[at.Rank] &&
			s.ended[0][rows.Place{Rank: at.Rank, Step: at.Step}] && s.ended[1][rows.Place{Rank: at.BenchRank, Step: at.BenchStep}],
	}
}
