package pair

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/tensortap/tensortap/analysis/rows"
)

// mostProgramPairs is the greatest number of pairs of different programs of two runs that are
// aligned.
const mostProgramPairs = 1000

// TooManyProgramsError says that two runs have more pairs of different programs than are aligned. Its caller warns: ops
// of the others are paired by their names alone.
type TooManyProgramsError struct {
	Problem, Bench string
	Most           int
}

func (e *TooManyProgramsError) Error() string {
	return fmt.Sprintf("align %s with %s: they ran more than %d pairs of different programs; the %d of most steps are aligned, ops of the others are paired by their names alone",
		e.Problem, e.Bench, e.Most, e.Most)
}

// Aligner aligns the programs of paired steps, each pair of programs once. Its methods may be called at the same
// time, but Align only once the tensors of all samples were seen.
type Aligner struct {
	definitions *rows.Definitions
	split       int64
	chosen      map[Programs]bool

	mutex    sync.Mutex
	problem  learner
	bench    learner
	programs map[uint64]*Program
	done     map[Programs]*Alignment
}

// learner has the facts about the programs of a run.
type learner struct {
	samples    map[rows.Place][]uint64         // the programs that each place is looked at for
	signatures map[uint64]map[uint64]Signature // by program and op
}

// NewAligner chooses the pairs of programs to align: those of most steps. The error is a TooManyProgramsError, or
// nil; the aligner is there in any case. Ops of a program that was cut short pair by name: its last modules have no
// end, so ops inside them would pair with ops outside. So do programs with unknown ops.
func NewAligner(problem, bench *rows.Run, steps []Step, definitions *rows.Definitions) (*Aligner, error) {
	a := &Aligner{
		definitions: definitions, split: splitFactors(problem, bench), chosen: map[Programs]bool{},
		programs: map[uint64]*Program{}, done: map[Programs]*Alignment{},
	}
	pairs := differentPrograms(steps, definitions, cutShort(problem, bench))
	for _, pair := range pairs[:min(len(pairs), mostProgramPairs)] {
		a.chosen[pair] = true
	}
	a.problem = newLearner(problem, a.chosen, func(p Programs) uint64 { return p.Problem })
	a.bench = newLearner(bench, a.chosen, func(p Programs) uint64 { return p.Bench })
	if len(pairs) > mostProgramPairs {
		return a, &TooManyProgramsError{Problem: problem.Name, Bench: bench.Name, Most: mostProgramPairs}
	}
	return a, nil
}

// cutShort are the programs of steps that were.
func cutShort(runs ...*rows.Run) map[uint64]bool {
	cut := map[uint64]bool{}
	for _, run := range runs {
		for i := range run.Steps {
			if run.Steps[i].Complete == 0 {
				cut[run.Steps[i].ProgramID] = true
			}
		}
	}
	return cut
}

// differentPrograms are the pairs that can be aligned, those of most steps first.
func differentPrograms(steps []Step, definitions *rows.Definitions, cut map[uint64]bool) []Programs {
	times := map[Programs]int{}
	for i := range steps {
		s := &steps[i]
		if s.InProblem && s.InBench && s.ProblemProgram != s.BenchProgram {
			times[Programs{s.ProblemProgram, s.BenchProgram}]++
		}
	}
	var pairs []Programs
	for pair := range times {
		known := len(definitions.Programs[pair.Problem]) > 0 && len(definitions.Programs[pair.Bench]) > 0
		if known && !cut[pair.Problem] && !cut[pair.Bench] {
			pairs = append(pairs, pair)
		}
	}
	slices.SortFunc(pairs, func(a, b Programs) int { return cmp.Or(cmp.Compare(times[b], times[a]), byPrograms(a, b)) })
	return pairs
}

// newLearner chooses a sample of each program: its first step that has tensors, else its first.
func newLearner(run *rows.Run, chosen map[Programs]bool, side func(Programs) uint64) learner {
	l := learner{samples: map[rows.Place][]uint64{}, signatures: map[uint64]map[uint64]Signature{}}
	wanted := map[uint64]bool{}
	for pair := range chosen {
		wanted[side(pair)] = true
	}
	first := map[uint64]int{}
	for i := range run.Steps {
		s := &run.Steps[i]
		at, seen := first[s.ProgramID]
		if wanted[s.ProgramID] && (!seen || run.Steps[at].TensorCount == 0 && s.TensorCount > 0) {
			first[s.ProgramID] = i
		}
	}
	for program, i := range first {
		at := rows.Place{Rank: run.Steps[i].Rank, Step: run.Steps[i].Step}
		l.samples[at] = append(l.samples[at], program)
	}
	return l
}

// Samples are the places of each run whose tensors the aligner has to see, by rank, then step: one of each program.
func (a *Aligner) Samples() (problem, bench []rows.Place) {
	return a.problem.places(), a.bench.places()
}

func (l *learner) places() []rows.Place {
	places := make([]rows.Place, 0, len(l.samples))
	for at := range l.samples {
		places = append(places, at)
	}
	slices.SortFunc(places, func(a, b rows.Place) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Step, b.Step))
	})
	return places
}

// SeeProblem gives the aligner the tensors of a place of the problem; it ignores a place that is no sample.
func (a *Aligner) SeeProblem(at rows.Place, tensors *rows.Tensors) { a.see(&a.problem, at, tensors) }

// SeeBench is SeeProblem of the bench.
func (a *Aligner) SeeBench(at rows.Place, tensors *rows.Tensors) { a.see(&a.bench, at, tensors) }

func (a *Aligner) see(l *learner, at rows.Place, tensors *rows.Tensors) {
	programs := l.samples[at]
	if len(programs) == 0 {
		return
	}
	signatures := Signatures(tensors, a.definitions, a.split)
	a.mutex.Lock()
	defer a.mutex.Unlock()
	for _, program := range programs {
		l.signatures[program] = signatures
	}
}

// Align is the alignment of two programs; nil where they are the same, or are left to the names of their ops.
func (a *Aligner) Align(pair Programs) *Alignment {
	if !a.chosen[pair] {
		return nil
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.done[pair] == nil {
		problem, bench := a.program(pair.Problem), a.program(pair.Bench)
		Sign(problem, bench, a.problem.signatures[pair.Problem], a.bench.signatures[pair.Bench])
		a.done[pair] = Align(problem, bench)
	}
	return a.done[pair]
}

// program is a copy of a program, since its signatures depend on its partner.
func (a *Aligner) program(id uint64) *Program {
	known := a.programs[id]
	if known == nil {
		known = NewProgram(id, a.definitions)
		a.programs[id] = known
	}
	return &Program{ID: id, Ops: slices.Clone(known.Ops), Positions: known.Positions}
}

// Alignments are those of all chosen pairs, by problem's program, then bench's.
func (a *Aligner) Alignments() []*Alignment {
	pairs := make([]Programs, 0, len(a.chosen))
	for pair := range a.chosen {
		pairs = append(pairs, pair)
	}
	slices.SortFunc(pairs, byPrograms)
	list := make([]*Alignment, 0, len(pairs))
	for _, pair := range pairs {
		list = append(list, a.Align(pair))
	}
	return list
}
