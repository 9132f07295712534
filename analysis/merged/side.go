package merged

import (
	"context"

	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/pair/merge"
	"github.com/tensortap/tensortap/analysis/rows"
)

// side is a run that is merged, and how it stands beside the other one.
type side struct {
	merger     *merge.Merger
	run, other *rows.Run
	beside     map[rows.Place]besides // by place of the run
	planner    *pair.Planner
	pairing    func(problem, bench *rows.Tensors, matches []pair.Match) merge.Beside
	inOrder    func(own, other *rows.Tensors) (problem, bench *rows.Tensors)
}

// besides is the place of the other run beside one.
type besides struct {
	step  pair.Step
	other rows.Place
}

// merge makes the sides that have to be merged, by name.
func (c *comparison) merge(ctx context.Context) (map[string]*side, error) {
	if c.sizes.Same() {
		return nil, nil //nolint:nilnil // there is nothing to merge
	}
	planner, err := c.planner(ctx)
	if err != nil {
		return nil, err
	}
	if needed, err := c.needed(ctx, planner); err != nil || !needed {
		return nil, err
	}
	sides := map[string]*side{}
	if c.sizes.Problem > 1 {
		sides[sideProblem] = c.side(planner, c.ofProblem())
	}
	if c.sizes.Bench > 1 {
		sides[sideBench] = c.side(planner, c.ofBench())
	}
	return sides, nil
}

func (c *comparison) ofProblem() side {
	s := side{
		run: inFull(c.problem), other: c.bench, beside: map[rows.Place]besides{}, pairing: merge.BesideProblem,
		inOrder: func(own, other *rows.Tensors) (problem, bench *rows.Tensors) { return own, other },
		merger:  merge.New(c.problem, c.bench, c.offset, c.source.definitions),
	}
	c.eachPair(func(step pair.Step, problem, bench rows.Place) {
		s.beside[problem] = besides{step, bench}
	})
	return s
}

func (c *comparison) ofBench() side {
	s := side{
		run: inFull(c.bench), other: c.problem, beside: map[rows.Place]besides{}, pairing: merge.BesideBench,
		inOrder: func(own, other *rows.Tensors) (problem, bench *rows.Tensors) { return other, own },
		merger:  merge.New(c.bench, c.problem, -c.offset, c.source.definitions),
	}
	c.eachPair(func(step pair.Step, problem, bench rows.Place) {
		if _, taken := s.beside[bench]; !taken { // of several replicas the first
			s.beside[bench] = besides{step, problem}
		}
	})
	return s
}

// inFull is the run as it is read to be merged.
func inFull(run *rows.Run) *rows.Run {
	full := *run
	full.AllStatistics = true
	return &full
}

func (c *comparison) side(planner *pair.Planner, s side) *side {
	s.planner = planner
	return &s
}

// eachPair calls for each step that both runs have.
func (c *comparison) eachPair(call func(step pair.Step, problem, bench rows.Place)) {
	for _, s := range c.steps {
		if s.InProblem && s.InBench {
			call(s, rows.Place{Rank: s.Rank, Step: s.Step}, rows.Place{Rank: s.BenchRank, Step: s.BenchStep})
		}
	}
}

// planner pairs the tensors of the unmerged runs. The merged runs have the same programs, and their comparison
// reports the programs left to the names of their ops.
func (c *comparison) planner(ctx context.Context) (*pair.Planner, error) {
	aligner, _ := pair.NewAligner(c.problem, c.bench, c.steps, c.source.definitions)
	problem, bench := aligner.Samples()
	if err := c.source.see(ctx, c.problem, problem, aligner.SeeProblem); err != nil {
		return nil, err
	}
	if err := c.source.see(ctx, c.bench, bench, aligner.SeeBench); err != nil {
		return nil, err
	}
	planner := pair.NewPlanner(aligner)
	planner.Rename(c.source.rename)
	return planner, nil
}

func (s *Source) see(ctx context.Context, run *rows.Run, places []rows.Place, tell func(rows.Place, *rows.Tensors)) error {
	for _, at := range places {
		tensors, err := s.one(ctx, run, at)
		if err != nil {
			return err
		}
		tell(at, tensors)
	}
	return nil
}

func (s *Source) one(ctx context.Context, run *rows.Run, at rows.Place) (*rows.Tensors, error) {
	tensors, err := s.base.Tensors(ctx, run, []rows.Place{at})
	return tensors[at], err
}

// needed says whether the ranks of the runs hold parts of different sizes. Worlds of different sizes need not: copies
// are added, too. Of steps with the same programs on the same ranks the first decides.
func (c *comparison) needed(ctx context.Context, planner *pair.Planner) (bool, error) {
	if c.sizes.Certain() {
		return true, nil
	}
	type kind struct {
		programs    pair.Programs
		rank, bench uint32
	}
	seen := map[kind]bool{}
	for _, s := range c.steps {
		k := kind{pair.Programs{Problem: s.ProblemProgram, Bench: s.BenchProgram}, s.Rank, s.BenchRank}
		if !s.InProblem || !s.InBench || seen[k] {
			continue
		}
		seen[k] = true
		if split, err := c.split(ctx, planner, s); err != nil || split {
			return split, err
		}
	}
	return false, nil
}

func (c *comparison) split(ctx context.Context, planner *pair.Planner, s pair.Step) (bool, error) {
	problem, err := c.source.one(ctx, c.problem, rows.Place{Rank: s.Rank, Step: s.Step})
	if err != nil {
		return false, err
	}
	bench, err := c.source.one(ctx, c.bench, rows.Place{Rank: s.BenchRank, Step: s.BenchStep})
	if err != nil {
		return false, err
	}
	return c.sizes.SplitWeight(problem, bench, planner.Plan(s, problem, bench).Matches(problem, bench), c.source.definitions), nil
}

// tensors merges the tensors of some places.
func (s *side) tensors(ctx context.Context, base rows.Source, places []rows.Place) (map[rows.Place]*rows.Tensors, error) {
	var parts, others []rows.Place
	for _, at := range places {
		parts = append(parts, s.merger.Parts(at)...)
		if beside, ok := s.beside[at]; ok {
			others = append(others, beside.other)
		}
	}
	own, err := base.Tensors(ctx, s.run, parts)
	if err != nil {
		return nil, err
	}
	other, err := base.Tensors(ctx, s.other, others)
	if err != nil {
		return nil, err
	}
	made := map[rows.Place]*rows.Tensors{}
	for _, at := range places {
		if t := s.merger.Merge(at, own, s.besideLeader(at, own[at], other)); t.Len() > 0 {
			made[at] = t
		}
	}
	return made, nil
}

// besideLeader is the tensors beside those of a group's leader.
func (s *side) besideLeader(at rows.Place, own *rows.Tensors, others map[rows.Place]*rows.Tensors) merge.Beside {
	beside, ok := s.beside[at]
	if !ok {
		return merge.Beside{}
	}
	problem, bench := s.inOrder(own, others[beside.other])
	return s.pairing(problem, bench, s.planner.Plan(beside.step, problem, bench).Matches(problem, bench))
}
