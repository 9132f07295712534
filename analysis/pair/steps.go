package pair

import (
	"cmp"
	"math"
	"slices"

	"github.com/tensortap/tensortap/analysis/rows"
)

// PairSteps gives the partner of every place of both runs, by step, then rank. Steps pair by number, with the offset
// added to a step of the problem to get the step of the bench. Without an offset, steps of inference engines pair by
// their requests and those of trainers by what these count, where numbers would pair others.
//
// Where nothing moved, a place pairs with the same place, whatever the coordinates of its rank. Else a rank of the
// bench without partner has number 4294967295 less its own, and so has a step of the bench without a partner by
// what it is. A step of the bench whose partner would have a number below 0 is left out.
func PairSteps(problem, bench *rows.Run, ranks []Ranks, offset int64) []Step { //nolint:revive // Steps would not say that it decides
	m := newStepMatcher(problem, bench, ranks, offset)
	steps := map[rows.Place]*Step{}
	for _, at := range placed(problem) {
		steps[at] = &Step{Rank: at.Rank, Step: at.Step, InProblem: true, ProblemProgram: m.problem[at]}
	}
	for _, at := range placed(bench) {
		for _, beside := range m.besideBench(at) {
			s := steps[beside]
			if s == nil {
				s = &Step{Rank: beside.Rank, Step: beside.Step}
				steps[beside] = s
			}
			s.BenchRank, s.BenchStep, s.InBench, s.BenchProgram = at.Rank, at.Step, true, m.bench[at]
		}
	}
	return inOrder(steps)
}

// OnlyStepsOffset is the offset that pairs the only step of one run with the only step of the other; 0 where either has
// several, or none.
func OnlyStepsOffset(problem, bench *rows.Run) int64 {
	one, first := onlyStep(problem)
	other, second := onlyStep(bench)
	if !first || !second {
		return 0
	}
	return int64(other) - int64(one)
}

func onlyStep(run *rows.Run) (step uint32, only bool) {
	places := placed(run)
	if len(places) == 0 {
		return 0, false
	}
	step = places[0].Step
	return step, !slices.ContainsFunc(places, func(at rows.Place) bool { return at.Step != step })
}

func inOrder(steps map[rows.Place]*Step) []Step {
	list := make([]Step, 0, len(steps))
	for _, s := range steps {
		list = append(list, *s)
	}
	slices.SortFunc(list, func(a, b Step) int {
		return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.Rank, b.Rank))
	})
	return list
}

// placed are the places of a run: steps that ended, and those that have tensors and did not.
func placed(run *rows.Run) []rows.Place {
	places := make([]rows.Place, 0, len(run.Steps)+len(run.Open))
	for i := range run.Steps {
		places = append(places, rows.Place{Rank: run.Steps[i].Rank, Step: run.Steps[i].Step})
	}
	return append(places, run.Open...)
}

// stepMatcher finds the place of the problem that stands beside a place of the bench.
type stepMatcher struct {
	problem, bench map[rows.Place]uint64 // the programs of steps that ended
	partners       map[uint32][]uint32   // ranks of the problem, by that of the bench
	moves          moves
	offset         int64
	renamed        bool // whether any place of the bench has another name than its partner
}

func newStepMatcher(problem, bench *rows.Run, ranks []Ranks, offset int64) *stepMatcher {
	m := &stepMatcher{problem: programsOf(problem), bench: programsOf(bench), partners: map[uint32][]uint32{}, offset: offset}
	if offset == 0 {
		m.moves = servedMoves(problem, bench, ranks)
		if m.moves.empty() {
			m.moves = trainedMoves(problem, bench, ranks)
		}
	}
	m.renamed = offset != 0 || !m.moves.empty()
	for _, pair := range ranks {
		m.partners[pair.Bench] = append(m.partners[pair.Bench], pair.Problem)
		m.renamed = m.renamed || pair.Problem != pair.Bench
	}
	m.renamed = m.renamed || m.otherPrograms(ranks)
	return m
}

func programsOf(run *rows.Run) map[rows.Place]uint64 {
	programs := make(map[rows.Place]uint64, len(run.Steps))
	for i := range run.Steps {
		programs[rows.Place{Rank: run.Steps[i].Rank, Step: run.Steps[i].Step}] = run.Steps[i].ProgramID
	}
	return programs
}

// otherPrograms says whether partners ran different programs; of ranks and steps of the same numbers.
func (m *stepMatcher) otherPrograms(ranks []Ranks) bool {
	paired := map[uint32]bool{}
	for _, pair := range ranks {
		paired[pair.Problem] = true
	}
	for at, program := range m.problem {
		if other, ok := m.bench[at]; ok && paired[at.Rank] && other != program {
			return true
		}
	}
	return false
}

// besideBench gives the places of the partners of a place of the bench, existing or not.
func (m *stepMatcher) besideBench(at rows.Place) []rows.Place {
	if !m.renamed {
		return []rows.Place{at}
	}
	partners := m.partners[at.Rank]
	if len(partners) == 0 {
		if step, ok := m.stepOf(0, at.Step); ok {
			return []rows.Place{{Rank: math.MaxUint32 - at.Rank, Step: step}}
		}
	}
	var places []rows.Place
	for _, rank := range partners {
		if step, ok := m.stepOf(rank, at.Step); ok {
			places = append(places, rows.Place{Rank: rank, Step: step})
		}
	}
	return places
}

// stepOf is the step of a rank of the problem that stands beside a step of the bench.
func (m *stepMatcher) stepOf(rank, step uint32) (uint32, bool) {
	if m.moves.empty() {
		beside := int64(step) - m.offset
		return uint32(beside), beside >= 0 && beside <= math.MaxUint32 //nolint:gosec // it is looked at
	}
	if beside, ok := m.moves.toProblem[rows.Place{Rank: rank, Step: step}]; ok {
		return beside, true
	}
	return math.MaxUint32 - step, true
}
