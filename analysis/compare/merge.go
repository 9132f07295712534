package compare

import (
	"context"
	"slices"

	"github.com/tensortap/tensortap/analysis/merged"
	"github.com/tensortap/tensortap/analysis/pair/merge"
	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/analysis/result"
	"github.com/tensortap/tensortap/analysis/rows"
)

// merge has runs judged whose ranks are merged, where those that were recorded hold parts of different sizes.
func (j *Job) merge(ctx context.Context) error {
	j.recorded = slices.Concat([]*rows.Run{j.problem}, j.benches)
	if !j.request.Merge {
		return nil
	}
	source, err := merged.Open(ctx, j.source, j.problem, j.benches, j.request.StepOffset, j.rename())
	if err != nil {
		return err
	}
	if len(source.Merges()) == 0 {
		return j.addUp(ctx)
	}
	j.merged, j.source = source, source
	j.request.Rank = source.Rank(j.request.Rank)
	j.problem = source.Judged(j.problem)
	j.benches = make([]*rows.Run, len(j.benches))
	for i, bench := range j.recorded[1:] {
		j.benches[i] = source.Judged(bench)
	}
	return nil
}

// addUp has sums that the ranks of one run left open judged as the other run has them.
func (j *Job) addUp(ctx context.Context) error {
	if j.mapped == nil {
		return nil
	}
	source, err := merged.AddUp(ctx, j.source, j.problem, j.bench(), j.request.StepOffset, j.rename(), j.mapped.Sums())
	if source != nil {
		j.source = source
	}
	return err
}

// Merges are the runs whose ranks were merged; none where they are compared as they are.
func (j *Job) Merges() []merged.Merge {
	if j.merged == nil {
		return nil
	}
	return j.merged.Merges()
}

// Rank is the rank that is compared in the place of one of the problem, which is itself where no ranks are merged.
func (j *Job) Rank(rank int64) (int64, error) {
	if err := j.recorded[0].CheckRank(rank); err != nil || j.merged == nil {
		return rank, err
	}
	return j.merged.Rank(rank), nil
}

// Held are the tensors of the ranks of the problem that became one, at a step of that; none where none were merged.
func (j *Job) Held(ctx context.Context, at rows.Place) (map[rows.Place]*rows.Tensors, error) {
	for _, m := range j.Merges() {
		if m.Made == j.problem {
			var parts []rows.Place
			for _, rank := range m.Groups[at.Rank] {
				parts = append(parts, rows.Place{Rank: rank, Step: at.Step})
			}
			return j.source.Tensors(ctx, m.Run, parts)
		}
	}
	return nil, nil
}

// Recorded are the runs as they were recorded, and merged ranks of which something is missing though nothing is of their
// parts.
func (j *Job) Recorded() []*rows.Run { return slices.Concat(j.recorded, lacking(j.Merges())) }

// parts says of each origin in a merged rank whose part it is, as far as the parts tell.
func (j *Job) parts(ctx context.Context, origins []result.Origin) ([]report.Part, error) {
	if j.merged == nil || j.problem == j.recorded[0] {
		return nil, nil
	}
	parts := make([]report.Part, len(origins))
	for i := range origins {
		o := &origins[i]
		held, err := j.merged.Parts(ctx, j.problem, rows.Place{Rank: o.Rank, Step: o.Step}, o.Problem.SiteID)
		if err != nil {
			return nil, err
		}
		parts[i].Ranks, parts[i].Why = merge.WholeOf(&o.Bench, o.BenchLayout.Shape).StandOut(held)
		if len(parts[i].Ranks) == 0 {
			parts[i].Ranks = j.merged.Merges()[0].Groups[o.Rank]
		}
	}
	return parts, nil
}

// fillMerges says which ranks are one, and which of them an origin is in.
func (a *Answer) fillMerges(c *report.Comparison) {
	for _, m := range a.Merges {
		c.Merges = append(c.Merges, report.Merge{Side: m.Side, Run: m.Run.Name, Groups: m.Groups})
	}
	c.NameParts(a.Parts)
}

// lacking are merged ranks of which something is missing though nothing is of their parts: one of them died before its
// first step.
func lacking(merges []merged.Merge) []*rows.Run {
	var runs []*rows.Run
	for _, m := range merges {
		if anyIncomplete(m.Run) || !anyIncomplete(m.Made) {
			continue
		}
		lacking := &rows.Run{Name: m.Run.Name}
		for _, missing := range m.Made.Missing {
			if !missing.Complete {
				lacking.Missing = append(lacking.Missing, missing)
			}
		}
		runs = append(runs, lacking)
	}
	return runs
}

func anyIncomplete(run *rows.Run) bool {
	return slices.ContainsFunc(run.Missing, func(c rows.Completeness) bool { return !c.Complete })
}
