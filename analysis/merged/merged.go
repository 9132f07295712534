// Package merged gives runs whose ranks are the tensor-parallel groups of runs of
// another source, where two runs split their tensors among different numbers of
// ranks. They are made as they are read, and are nowhere stored.
package merged

import (
	"context"
	"fmt"

	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/pair/merge"
	"github.com/tensortap/tensortap/analysis/rows"
)

// Merge is one run whose ranks are merged.
type Merge struct {
	Side   string              // problem or bench
	Run    string              // the run
	Made   string              // the run that comes of it
	Groups map[uint32][]uint32 // its ranks, by the least of them, which is the merged one's number
}

// Names of the sides of a comparison.
const (
	sideProblem = "problem"
	sideBench   = "bench"
)

// Source gives the runs of another source, and the merged ones by their names. Its methods may be called at the same time.
type Source struct {
	base        rows.Source
	definitions *rows.Definitions
	runs        map[string]*rows.Run // that were read, or made
	sides       map[string]*side     // by name of the merged run
	merges      []Merge
}

// OtherGroupsError says that some benches have the groups of the problem and others have not.
type OtherGroupsError struct{ Same, Other string }

func (e *OtherGroupsError) Error() string {
	return fmt.Sprintf("compare with several benches: %s has the problem's tensor-parallel groups, %s has others; compare with one of them at a time",
		e.Same, e.Other)
}

// Open looks whether the ranks of the problem and its benches hold parts of different sizes. Where they do, the source has
// merged runs: Judged names those to compare. The offset is added to a step of the problem for that of a bench. An error
// is an OtherGroupsError, or that of the source.
func Open(ctx context.Context, base rows.Source, problem string, benches []string, offset int64) (*Source, error) {
	s := &Source{base: base, runs: map[string]*rows.Run{}, sides: map[string]*side{}}
	for _, name := range append([]string{problem}, benches...) {
		run, err := base.Run(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("read run %s: %w", name, err)
		}
		s.runs[name] = run
	}
	s.definitions = base.Definitions()
	mergedFor := map[bool]string{} // whether the problem was merged, and for which bench
	for i, bench := range benches {
		both := newComparison(s.runs[problem], s.runs[bench], offset, s)
		merges, err := both.merge(ctx)
		if err != nil {
			return nil, err
		}
		mergedFor[merges[sideProblem] != nil] = bench
		if len(mergedFor) > 1 {
			return nil, &OtherGroupsError{Same: mergedFor[false], Other: mergedFor[true]}
		}
		if i == 0 {
			s.add(sideProblem, merges[sideProblem])
		}
		s.add(sideBench, merges[sideBench])
	}
	return s, nil
}

func (s *Source) add(name string, made *side) {
	if made == nil {
		return
	}
	run := made.merger.Run()
	s.runs[run.Name], s.sides[run.Name] = run, made
	groups := map[uint32][]uint32{}
	for _, g := range made.merger.Groups() {
		groups[g.Leader] = g.Ranks
	}
	s.merges = append(s.merges, Merge{Side: name, Run: made.run.Name, Made: run.Name, Groups: groups})
}

// Merges are the runs whose ranks are merged, the problem's first; none where the ranks can be compared as they are.
func (s *Source) Merges() []Merge { return s.merges }

// Judged is the run that is compared in the place of one.
func (s *Source) Judged(run string) string {
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
		if m.Side != sideProblem {
			continue
		}
		for leader, ranks := range m.Groups {
			for _, one := range ranks {
				if int64(one) == rank {
					return int64(leader)
				}
			}
		}
	}
	return rank
}

// Definitions are those of all runs; those of merged tensors are added as they are made.
func (s *Source) Definitions() *rows.Definitions { return s.definitions }

// Run is what is known of a run, be it recorded or merged.
func (s *Source) Run(ctx context.Context, name string) (*rows.Run, error) {
	if run := s.runs[name]; run != nil {
		return run, nil
	}
	return s.base.Run(ctx, name)
}

// Tensors are those of some places of a run.
func (s *Source) Tensors(ctx context.Context, run *rows.Run, places []rows.Place) (map[rows.Place]*rows.Tensors, error) {
	if made := s.sides[run.Name]; made != nil {
		return made.tensors(ctx, s.base, places)
	}
	return s.base.Tensors(ctx, run, places)
}

// Parts are what each rank of a group holds of a site at a place of a merged run, by rank, then micro step; none of a run
// that is not merged.
func (s *Source) Parts(ctx context.Context, made string, at rows.Place, site uint64) ([]merge.Part, error) {
	of := s.sides[made]
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
	return &comparison{
		source: source, problem: problem, bench: bench, offset: offset, sizes: merge.SizesOf(problem, bench),
		steps: pair.PairSteps(problem, bench, pair.PairRanks(problem, bench), offset),
	}
}
