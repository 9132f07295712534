package system

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/tensortap/tensortap/analysis/report"
)

// merge makes one rank of several where the runs of a comparison cannot be held against each other as they are.
func (c *Client) merge(ctx context.Context, r CompareRequest, comparison *report.Comparison) error {
	mergedFor := map[bool]string{} // whether the problem was merged, and for which bench
	for i, bench := range comparison.Benches {
		merges, err := c.mergeRanks(ctx, comparison.Problem, bench, r.StepOffset)
		if err != nil {
			return err
		}
		mergedFor[slices.ContainsFunc(merges, func(m report.Merge) bool { return m.Side == "problem" })] = bench
		if len(mergedFor) > 1 {
			return fmt.Errorf("compare with several benches: %s has the problem's tensor-parallel groups, %s has others; compare with one of them at a time",
				mergedFor[false], mergedFor[true])
		}
		for _, merge := range merges {
			if merge.Side == "bench" || i == 0 {
				comparison.Merges = append(comparison.Merges, merge)
			}
		}
	}
	if len(comparison.Merges) == 0 {
		return nil
	}
	if r.Payload {
		return errors.New("compare raw tensors: the runs have tensor-parallel groups of different sizes, and parts cannot be compared element by element; leave out --payload")
	}
	problem, benches := comparison.Judged()
	if comparison.Stored { // else nothing more can be asked
		comparison.ProblemArgument, comparison.BenchArgument = report.Argument(problem), report.Argument(benches[0])
	}
	return nil
}

// mergedRank is the rank that one of the problem became.
func mergedRank(merges []report.Merge, rank int64) int64 {
	for _, merge := range merges {
		for least, ranks := range merge.Groups {
			if merge.Side == "problem" && slices.ContainsFunc(ranks, func(one uint32) bool { return int64(one) == rank }) {
				return int64(least)
			}
		}
	}
	return rank
}

// nameParts finds out, for each origin in a merged rank of the problem, which rank's part it is.
func (c *Client) nameParts(ctx context.Context, comparison *report.Comparison) error {
	for _, merge := range comparison.Merges {
		if merge.Side != "problem" {
			continue
		}
		for row := range comparison.Origins.Rows {
			parts, err := c.Report(ctx, "parts", partsOf(merge.Run, comparison.Origins, row))
			if err != nil {
				return err
			}
			comparison.NamePart(row, merge, parts)
		}
	}
	return nil
}

// partsOf are the parameters of the report on the parts of an origin, held against the whole tensor of the bench.
func partsOf(run string, origins report.Table, row int) map[string]string {
	get := func(column string) report.Value { return origins.Get(row, column) }
	parameters := map[string]string{"run": run, "op": get("op").Exact, "rank": get("rank").Exact, "step": get("step").Exact}
	for parameter, column := range map[string]string{"least": "bench_min", "greatest": "bench_max"} {
		if !get(column).Null {
			parameters[parameter] = get(column).Exact
		}
	}
	var shape []float64
	if json.Unmarshal([]byte(get("bench_shape").JSON), &shape) != nil {
		return parameters
	}
	elements := 1.0
	for _, size := range shape {
		elements *= size
	}
	if norm := get("bench_l2"); !norm.Null && elements > 0 {
		parameters["root_mean_square"] = formatFloat(norm.Number / math.Sqrt(elements))
	}
	return parameters
}

// mergeExplained lets an explanation be of merged ranks where it must.
func (c *Client) mergeExplained(ctx context.Context, r *ExplainRequest, e *report.Explanation) error {
	comparison := report.Comparison{Problem: e.Problem, Benches: r.Compare.Benches}
	if err := c.merge(ctx, r.Compare, &comparison); err != nil {
		return err
	}
	r.Compare.Rank = mergedRank(comparison.Merges, r.Compare.Rank)
	r.Compare.Problem, r.Compare.Benches = comparison.Judged()
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
