package system

import (
	"context"
	"fmt"

	"github.com/tensortap/tensortap/analysis/jobs"
	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/plural"
)

// OutcomeOf is a comparison as one of many: its verdict, where it began and its counts.
func OutcomeOf(c *report.Comparison) jobs.Outcome {
	object := c.Object(report.Style{})
	counted := func(name string) uint64 { return uint64(max(object.Counts[name], 0)) }
	outcome := jobs.Outcome{
		Verdict: jobs.Verdict(c.Verdict), Because: object.UnknownBecause, Warnings: c.Warnings,
		Counts: jobs.Counts{
			Paired: counted("paired"), OnlyProblem: counted("only_problem"), OnlyBench: counted("only_bench"),
			Unknown: counted("unknown"), Differing: counted("differing"),
		},
	}
	if more := c.WarningCount - len(c.Warnings); more > 0 {
		outcome.Warnings = append(outcome.Warnings[:len(c.Warnings):len(c.Warnings)], plural.Of(more, "more problem")+" like these")
	}
	for i := range c.Origins.Rows {
		outcome.Origins = append(outcome.Origins, originOf(c.Origins, i))
	}
	return outcome
}

func originOf(t report.Table, row int) jobs.Origin {
	text := func(column string) string { return t.Get(row, column).Exact }
	return jobs.Origin{
		Rank: uint32(count(t, row, "rank")), Step: uint32(count(t, row, "step")), //nolint:gosec // they are such numbers in the table
		Op: text("op"), Module: text("module"), Role: text("role"), Path: text("path"), Kind: text("kind"), Verdict: text("verdict"),
		Error: t.Get(row, "error").Number, Tolerance: t.Get(row, "tolerance").Number,
	}
}

// RunNames are the names of all stored runs.
func (c *Client) RunNames(ctx context.Context) ([]string, error) {
	table, err := c.Table(ctx, "SELECT name FROM tap.runs ORDER BY name", nil)
	if err != nil {
		return nil, fmt.Errorf("list stored runs: %w", err)
	}
	names := make([]string, len(table.Rows))
	for i := range table.Rows {
		names[i] = table.Get(i, "name").Exact
	}
	return names, nil
}
