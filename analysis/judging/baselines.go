package judging

import (
	"context"
	"fmt"
	"slices"

	"github.com/tensortap/tensortap/analysis/ask"
	"github.com/tensortap/tensortap/schemas"
)

// baselinesCondition is of those that are set: of each name the latest change.
const baselinesCondition = `(name, changed_time_ns) IN (SELECT name, max(changed_time_ns) FROM tap_store.baseline GROUP BY name) AND removed = 0
ORDER BY name LIMIT 1 BY name`

// knownQuery tells which runs and baselines there are from others, by their keys alone.
const knownQuery = `SELECT toString((
    (SELECT sum(cityHash64(run_id, epoch)) FROM tap_store.run),
    (SELECT sum(cityHash64(name, changed_time_ns)) FROM tap_store.baseline)
)) AS known`

// declareMatches declares, for each baseline, the comparison of each run that matches. Where there is neither another run
// nor another baseline than before, none of them is read.
func (s *Standing) declareMatches(ctx context.Context) error {
	table, err := s.Keeper.Door.Table(ctx, knownQuery, nil)
	if err != nil {
		return fmt.Errorf("look which runs and baselines there are: %w", err)
	}
	known := table.Get(0, "known").Exact
	if known == s.matched {
		return nil
	}
	if err := s.match(ctx); err != nil {
		return err
	}
	s.matched = known
	return nil
}

func (s *Standing) match(ctx context.Context) error {
	baselines, err := ask.Rows[schemas.BaselineRow](ctx, s.Keeper.Door, baselinesCondition)
	if err != nil || len(baselines) == 0 {
		return err
	}
	runs, err := ask.Rows[schemas.RunRow](ctx, s.Keeper.Door, "1 ORDER BY run_id, first_event_time_ns DESC LIMIT 1 BY run_id")
	if err != nil {
		return err
	}
	for i := range baselines {
		for j := range runs {
			if !matches(&baselines[i], &runs[j]) {
				continue
			}
			if err := s.declareMatch(ctx, &baselines[i], runs[j].Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// declareMatch declares a comparison, unless it was declared before.
func (s *Standing) declareMatch(ctx context.Context, b *schemas.BaselineRow, run string) error {
	c, err := Of(&schemas.DeclaredComparisonRow{
		Problem: run, Benches: b.Benches, Tolerance: b.Tolerance, Tolerances: b.Tolerances, Exceptions: b.Exceptions,
		StepOffset: b.StepOffset, Mapping: b.Mapping, Strict: b.Strict, Standing: 1,
	})
	if err != nil {
		return fmt.Errorf("hold %s against baseline %s: %w", run, b.Name, err)
	}
	if s.declared[c.ID()] {
		return nil
	}
	if err := s.Current(ctx); err != nil { // tables that are filled again may have the run before its comparison
		return err
	}
	if err := s.Keeper.Declare(ctx, c); err != nil {
		return err
	}
	s.declared[c.ID()] = true
	return nil
}

// matches says whether a run is held against a baseline: it has the labels, and is no bench of it.
func matches(b *schemas.BaselineRow, run *schemas.RunRow) bool {
	if slices.Contains(b.Benches, run.Name) {
		return false
	}
	for name, value := range b.Labels {
		if own, has := run.Labels[name]; !has || own != value {
			return false
		}
	}
	return true
}
