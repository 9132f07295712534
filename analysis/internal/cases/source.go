package cases

import (
	"context"
	"fmt"

	"github.com/tensortap/tensortap/analysis/rows"
)

// Source gives the runs of a case as any other source does.
type Source struct{ Runs *Runs }

// Definitions are those of both runs.
func (s Source) Definitions() *rows.Definitions { return s.Runs.Definitions }

// Run is the problem or the bench.
func (s Source) Run(_ context.Context, name string) (*rows.Run, error) {
	for _, run := range []*rows.Run{s.Runs.Problem, s.Runs.Bench} {
		if run.Name == name {
			return run, nil
		}
	}
	return nil, fmt.Errorf("a case has the runs problem and bench, not %q", name)
}

// Tensors are those of some places of a run.
func (s Source) Tensors(_ context.Context, run *rows.Run, places []rows.Place) (map[rows.Place]*rows.Tensors, error) {
	tensors := map[rows.Place]*rows.Tensors{}
	for _, at := range places {
		if t := s.Runs.Tensors(run, at.Rank, at.Step); t.Len() > 0 {
			tensors[at] = t
		}
	}
	return tensors, nil
}
