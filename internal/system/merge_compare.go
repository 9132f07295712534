package system

import (
	"context"
	"slices"
	"strconv"

	"github.com/tensortap/tensortap/analysis/report"
)

// mergedRank is the rank that one of the problem became.
func mergedRank(merges []derived, rank int64) int64 {
	for _, merge := range merges {
		for least, ranks := range merge.groups {
			if merge.side == "problem" && slices.ContainsFunc(ranks, func(one uint32) bool { return int64(one) == rank }) {
				return int64(least)
			}
		}
	}
	return rank
}

// mergeExplained lets an explanation be of merged ranks where it must.
func (c *Client) mergeExplained(ctx context.Context, r *ExplainRequest, e *report.Explanation) error {
	r.Compare.Benches = slices.Clone(r.Compare.Benches)
	for i, bench := range r.Compare.Benches {
		merges, err := c.mergeRanks(ctx, e.Problem, bench, r.Compare.StepOffset)
		if err != nil {
			return err
		}
		for _, merge := range merges {
			switch {
			case merge.side == "bench":
				r.Compare.Benches[i] = merge.made
			case i == 0:
				r.Compare.Problem = merge.made
				r.Compare.Rank = mergedRank(merges, r.Compare.Rank)
			}
		}
	}
	e.Problem, e.Bench = r.Compare.Problem, r.Compare.Bench()
	return nil
}

// fillParts asks what the ranks that became the explained one held.
func (c *Client) fillParts(ctx context.Context, e *report.Explanation) error {
	source, err := c.Table(ctx, "SELECT labels[{label:String}] AS run FROM tap.runs WHERE name = {run:String}", map[string]string{"run": e.Problem, "label": sourceLabel})
	if err != nil || len(source.Rows) == 0 || source.Get(0, "run").Exact == "" {
		return err
	}
	e.Parts, err = c.Report(ctx, "parts", map[string]string{
		"run": source.Get(0, "run").Exact, "op": e.Op, "rank": strconv.FormatInt(e.Rank, 10), "step": strconv.FormatInt(e.Step, 10),
	})
	return err
}
