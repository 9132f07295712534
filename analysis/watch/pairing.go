package watch

import (
	"context"
	"sync"

	"github.com/tensortap/tensortap/analysis/compare"
	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/rows"
)

// mostPlanners bounds how many pairs of programs are kept aligned.
const mostPlanners = 1000

// pairing says which tensors of a place stand beside each other. Programs that differ are aligned when a place first
// has both whole, each pair once.
type pairing struct {
	problem, bench *rows.Run
	source         rows.Source

	mutex    sync.Mutex
	plain    *pair.Planner // pairs by names alone
	planners map[pair.Programs]*pair.Planner
}

func newPairing(problem, bench *rows.Run, source rows.Source) *pairing {
	return &pairing{problem: problem, bench: bench, source: source, planners: map[pair.Programs]*pair.Planner{}}
}

// inFull says whether all pairs of a place are judged.
type inFull func(p *place) bool

// always judges complete rows in full.
func always(*place) bool { return true }

// sure says whether it is known which tensors of a place stand beside each other: of the same program, or of two that can
// be aligned. Else ids name the same call only as long as both ranks observed the same things in the same order.
func (r *referee) sure(p *place) bool { return sure(p, r.database.Source.Definitions()) }

func sure(p *place, definitions *rows.Definitions) bool {
	if !p.ended() || p.at.ProblemProgram == p.at.BenchProgram {
		return p.ended()
	}
	return p.defined(definitions) && lacks(p.standing[0]) == "" && lacks(p.standing[1]) == ""
}

// defined says whether programs that have to be aligned are known.
func (p *place) defined(definitions *rows.Definitions) bool {
	problem, bench := p.at.ProblemProgram, p.at.BenchProgram
	return problem == bench || !p.paired() || definitions.HasWhole(problem) && definitions.HasWhole(bench)
}

// match pairs the tensors of a place.
func (j *judging) match(ctx context.Context, p *place, of *compare.Beside) error {
	planner, err := j.pairing.planner(ctx, p, j.definitions)
	if err != nil {
		return err
	}
	of.Matches = planner.Plan(p.at, of.Problem, of.Bench).Matches(of.Problem, of.Bench)
	return nil
}

// inSameOrder pairs the first rows, as long as site and micro step are the same.
func inSameOrder(problem, bench *rows.Tensors) []pair.Match {
	var same []pair.Match
	for i := range min(problem.Len(), bench.Len()) {
		if problem.SiteID[i] != bench.SiteID[i] || microStep(problem, i) != microStep(bench, i) {
			break
		}
		same = append(same, pair.Match{Problem: int32(i), Bench: int32(i)}) //nolint:gosec // an index
	}
	return same
}

func microStep(t *rows.Tensors, i int) uint16 {
	if t.MicroStep == nil {
		return 0
	}
	return t.MicroStep[i]
}

// planner is the planner for the programs of a place. It is kept once these are final.
func (p *pairing) planner(ctx context.Context, at *place, definitions *rows.Definitions) (*pair.Planner, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	programs := pair.Programs{Problem: at.at.ProblemProgram, Bench: at.at.BenchProgram}
	if !at.paired() || !at.ended() || programs.Problem == programs.Bench {
		return p.byNames(definitions), nil
	}
	if known := p.planners[programs]; known != nil {
		return known, nil
	}
	aligner, err := p.align(ctx, at, definitions)
	if err != nil {
		return nil, err
	}
	planner := pair.NewPlanner(aligner)
	if sure(at, definitions) {
		if len(p.planners) >= mostPlanners {
			clear(p.planners)
		}
		p.planners[programs] = planner
	}
	return planner, nil
}

func (p *pairing) byNames(definitions *rows.Definitions) *pair.Planner {
	if p.plain == nil {
		aligner, _ := pair.NewAligner(p.problem, p.bench, nil, definitions) // of no steps there are never too many programs
		p.plain = pair.NewPlanner(aligner)
	}
	return p.plain
}

// align has an aligner of one pair of programs see the tensors that it asks for.
func (p *pairing) align(ctx context.Context, at *place, definitions *rows.Definitions) (*pair.Aligner, error) {
	aligner, _ := pair.NewAligner(p.problem, p.bench, []pair.Step{at.at}, definitions) // one pair is not too many
	problem, bench := aligner.Samples()
	for _, side := range []struct {
		run     *rows.Run
		samples []rows.Place
		see     func(rows.Place, *rows.Tensors)
	}{{p.problem, problem, aligner.SeeProblem}, {p.bench, bench, aligner.SeeBench}} {
		read, err := p.source.Tensors(ctx, side.run, side.samples)
		if err != nil {
			return nil, err
		}
		for _, sample := range side.samples {
			side.see(sample, read[sample])
		}
	}
	return aligner, nil
}
