package mapping

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/analysis/rows"
)

// Source gives the runs of another source through a map: parts joined, and modules of the problem by the names of the
// bench. Ops keep their recorded names. Its methods may be called at the same time.
type Source struct {
	of      rows.Source
	rules   *Map
	problem string
	benches []string

	once        sync.Mutex // held while the runs are read
	definitions *rows.Definitions
	sides       map[string]*side
	uses        []Use
	named       named
	lines       map[uint64]int
	wholes      map[uint64]bool // ops that were joined of several
}

// NewSource looks at the problem and its benches through a map. It reads nothing yet.
func NewSource(of rows.Source, m *Map, problem string, benches []string) *Source {
	return &Source{of: of, rules: m, problem: problem, benches: benches}
}

// Definitions are those of all runs, with ops, sites and layouts of joined parts.
func (s *Source) Definitions() *rows.Definitions {
	s.once.Lock()
	defer s.once.Unlock()
	if s.definitions == nil {
		return s.of.Definitions()
	}
	return s.definitions
}

// Run reads all runs of the comparison the first time. One that is not among them is given as it is.
func (s *Source) Run(ctx context.Context, name string) (*rows.Run, error) {
	s.once.Lock()
	defer s.once.Unlock()
	if s.sides == nil {
		if err := s.open(ctx); err != nil {
			return nil, err
		}
	}
	if one := s.sides[name]; one != nil {
		return one.run, nil
	}
	return s.of.Run(ctx, name)
}

// Tensors are those of the other source, joined.
func (s *Source) Tensors(ctx context.Context, run *rows.Run, places []rows.Place) (map[rows.Place]*rows.Tensors, error) {
	one := s.sides[run.Name]
	if one == nil {
		return s.of.Tensors(ctx, run, places)
	}
	recorded := *one.recorded
	recorded.AllStatistics = run.AllStatistics
	found, err := s.of.Tensors(ctx, &recorded, places)
	if err != nil {
		return nil, err
	}
	seen := make(map[rows.Place]*rows.Tensors, len(found))
	for at, tensors := range found {
		seen[at] = one.tensors(at, tensors)
	}
	return seen, nil
}

// Line is the line of the map that gave an op its partner; the op is of either run, by the definitions of the source.
func (s *Source) Line(op uint64) (Line, bool) {
	at, ok := s.lines[op]
	if !ok {
		return Line{}, false
	}
	return s.rules.Lines[at], true
}

// Uses are the lines of the map, with how many pairs each made.
func (s *Source) Uses() []Use { return s.uses }

// Unmatched are the lines that made no pair.
func (s *Source) Unmatched() []Line {
	var lines []Line
	for _, use := range s.uses {
		if use.Pairs == 0 {
			lines = append(lines, use.Line)
		}
	}
	return lines
}

// Use is a line of a map with its counts.
type Use struct {
	Line
	Problem, Bench int // modules, APIs, ops or tensors of either run that it names
	Pairs          int // of them
}

func (s *Source) open(ctx context.Context) error {
	names := append([]string{s.problem}, s.benches...)
	recorded := make([]*rows.Run, len(names))
	group, readCtx := errgroup.WithContext(ctx)
	for i, name := range names {
		group.Go(func() (err error) {
			if recorded[i], err = s.of.Run(readCtx, name); err != nil {
				return fmt.Errorf("read run %s: %w", name, err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	v := newView(s.rules, s.of.Definitions())
	sides := v.look(recorded)
	for name, one := range sides {
		if err := s.learnLayouts(ctx, one); err != nil {
			return fmt.Errorf("read what the joined parts of run %s are: %w", name, err)
		}
	}
	s.definitions, s.sides, s.uses, s.lines = v.definitions, sides, v.counted(recorded), v.lines
	s.named = v.named(v.namesOf(recorded[0]), v.namesOf(recorded[1]), sides[s.problem].renamed)
	s.wholes = v.wholes
	for line, pairs := range s.named.lines {
		s.uses[line].Pairs += pairs
	}
	return nil
}

// cloned are definitions that may be added to.
func cloned(d *rows.Definitions) *rows.Definitions {
	return &rows.Definitions{
		Ops: maps.Clone(d.Ops), Sites: maps.Clone(d.Sites), Layouts: maps.Clone(d.Layouts),
		Programs: maps.Clone(d.Programs), Stacks: d.Stacks,
	}
}

// mostSamples is the number of programs read for the layouts of joined parts.
const mostSamples = 64

// learnLayouts reads a step of each program that joins parts, so that their layouts are defined before others read the
// definitions. A layout that only comes later, and that no tensor of either run has, stays undefined.
func (s *Source) learnLayouts(ctx context.Context, one *side) error {
	places := one.samples()
	found, err := s.of.Tensors(ctx, one.recorded, places[:min(len(places), mostSamples)])
	if err != nil {
		return err
	}
	for _, at := range slices.SortedFunc(maps.Keys(found), comparePlaces) {
		one.layouts.learning = true
		one.tensors(at, found[at])
		one.layouts.learning = false
	}
	return nil
}
