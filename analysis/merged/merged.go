// Package merged gives runs with one rank for each tensor-parallel group of runs of another source,
// where two runs split their tensors among different numbers of ranks. They are merged as they are
// read, and stored nowhere.
package merged

import (
	"context"
	"fmt"
	"slices"

	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/pair/merge"
	"github.com/tensortap/tensortap/analysis/rows"
)

// Merge is one run with merged ranks.
type Merge struct {
	Side   string              // problem or bench
	Run    *rows.Run           // as it was recorded
	Made   *rows.Run           // of the same name, with one rank for each group
	Groups map[uint32][]uint32 // its ranks, by the least of them, which gives the merged rank its number
}

// Names of the sides of a comparison.
const (
	sideProblem = "problem"
	sideBench   = "bench"
)

// Source gives the tensors of another source, and those of merged runs. Its methods may be called at the same time.
type Source struct {
	base        rows.Source
	definitions *rows.Definitions
	sides       map[*rows.Run]*side // by merged run
	merges      []Merge
	rename      pair.Rename
}

// OtherGroupsError says that some benches have the groups of the problem and others have not.
type OtherGroupsError struct{ Same, Other string }

func (e *OtherGroupsError) Error() string {
	return fmt.Sprintf("compare with several benches: %s has the problem's tensor-parallel groups, %s has others; compare with one of them at a time",
		e.Same, e.Other)
}

// Open finds out whether the ranks of the problem and its benches hold parts of different sizes. If so, the source
// has merged runs: Judged gives the runs to compare. The runs are those of the source below. The offset is added to a
// step of the problem to get the step of a bench. Rename has the last word on the pairs of sites; nil where names have.
// An error is an OtherGroupsError, or the source's.
func Open(ctx context.Context, base rows.Source, problem *rows.Run, benches []*rows.Run, offset int64, rename pair.Rename) (*Source, error) {
	s := &Source{base: base, definitions: base.Definitions(), sides: map[*rows.Run]*side{}, rename: rename}
	mergedFor := map[bool]string{} // whether the problem was merged, and for which bench
	for i, bench := range benches {
		both := newComparison(problem, bench, offset, s)
		merges, err := both.merge(ctx)
		if err != nil {
			return nil, err
		}
		mergedFor[merges[sideProblem] != nil] = bench.Name
		if len(mergedFor) > 1 {
			return nil, &OtherGroupsError{Same: mergedFor[false], Other: mergedFor[true]}
		}
		if i == 0 {
			s.add(sideProblem, problem, merges[sideProblem])
		}
		s.add(sideBench, bench, merges[sideBench])
	}
	return s, nil
}

func (s *Source) add(name string, run *rows.Run, made *side) {
	if made == nil {
		return
	}
	m := Merge{Side: name, Run: run, Made: made.merger.Run(), Groups: map[uint32][]uint32{}}
	for _, g := range made.merger.Groups() {
		m.Groups[g.Leader] = g.Ranks
	}
	s.sides[m.Made] = made
	s.merges = append(s.merges, m)
}

// Merges are the runs with merged ranks, the problem's first; none where the ranks can be compared unmerged.
func (s *Source) Merges() []Merge { return s.merges }

// Judged is the run to compare in the place of a run.
func (s *Source) Judged(run *rows.Run) *rows.Run {
	for _, m := range s.merges {
		if m.Run == run {
			return m.Made
		}
	}
	return run
}

// Rank is the rank that one of the problem became.
func (s *Source) Rank(rank int64) int64 {
	for _, m := range s.merges {
		for leader, ranks := range m.Groups {
			if m.Side == sideProblem && slices.ContainsFunc(ranks, func(one uint32) bool { return int64(one) == rank }) {
				return int64(leader)
			}
		}
	}
	return rank
}

// Definitions are the definitions of all runs; those of merged tensors are added as they are made.
func (s *Source) Definitions() *rows.Definitions { return s.definitions }

// Run has the facts about a run, merged if need be.
func (s *Source) Run(ctx context.Context, name string) (*rows.Run, error) {
	for _, m := range s.merges {
		if m.Run.Name == name {
			return m.Made, nil
		}
	}
	return s.base.Run(ctx, name)
}

// Tensors are the tensors of some places of a run, recorded or merged.
func (s *Source) Tensors(ctx context.Context, run *rows.Run, places []rows.Place) (map[rows.Place]*rows.Tensors, error) {
	if made := s.sides[run]; made != nil {
		return made.tensors(ctx, s.base, places)
	}
	return s.base.Tensors(ctx, run, places)
}

// Parts are the parts of each rank of a group, of a site at a place of a merged run, by rank, then micro step; none
// for a run that is not merged.
func (s *Source) Parts(ctx context.Context, run *rows.Run, at rows.Place, site uint64) ([]merge.Part, error) {
	of := s.sides[run]
	if of == nil {
		return nil, nil
	}
	places := of.merger.Parts(at)
	tensors, err := s.base.Tensors(ctx, of.run, places)
	if err != nil {
		return nil, err
	}
	var parts []merge.Part
	for _, place := range places {
		t := tensors[place]
		for i := range t.Len() {
			if t.SiteID[i] == site {
				parts = append(parts, merge.Part{Rank: place.Rank, Observation: t.At(i)})
			}
		}
	}
	return parts, nil
}

// comparison is two runs before it is known whether their ranks are merged.
type comparison struct {
	source         *Source
	problem, bench *rows.Run
	offset         int64
	steps          []pair.Step
	sizes          merge.Sizes
}

func newComparison(problem, bench *rows.Run, offset int64, source *Source) *comparison {
	c := &comparison{source: source, problem: problem, bench: bench, offset: offset, sizes: merge.SizesOf(problem, bench)}
	if !c.sizes.Same() {
		c.pairSteps()
	}
	return c
}

func (c *comparison) pairSteps() {
	c.steps = pair.PairSteps(c.problem, c.bench, pair.PairRanks(c.problem, c.bench), c.offset)
}
