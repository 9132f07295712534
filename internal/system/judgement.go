package system

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/analysis/rules"
	"github.com/tensortap/tensortap/schemas"
)

// remember stores a comparison of stored runs, with what it names.
func (c *Client) remember(ctx context.Context, r CompareRequest, answer *report.Comparison) error {
	_, err := c.StoreComparison(ctx, row(r, answer), Findings(answer.Origins, answer.Remembered))
	return err
}

func row(r CompareRequest, answer *report.Comparison) schemas.ComparisonRow {
	made := schemas.ComparisonRow{
		Problem: answer.Problem, Benches: answer.Benches, Rules: rules.Version, ToolVersion: r.ToolVersion,
		Question: r.question(), Verdict: string(answer.Verdict),
		PairedCount: answer.Summary.Sum("paired_count"), OnlyProblemCount: answer.Summary.Sum("only_problem_count"),
		OnlyBenchCount: answer.Summary.Sum("only_bench_count"), UnknownCount: answer.Summary.Sum("unknown_count"),
		EqualCount: answer.Summary.Sum("equal_count"), WithinCount: answer.Summary.Sum("within_count"),
		AgreesCount: answer.Summary.Sum("agrees_count"), DivergedCount: answer.Summary.Sum("diverged_count"),
		NotFiniteCount: answer.Summary.Sum("not_finite_count"), StructureCount: answer.Summary.Sum("structure_count"),
	}
	if len(answer.Completeness.Gaps()) == 0 {
		made.Complete = 1
	}
	return made
}

// question is what was asked beside the names of the runs, as flags. A limit is one where it makes the list of what is
// stored longer than that of other comparisons.
func (r CompareRequest) question() string {
	asked := r.Parameters(r.Problem, r.Benches)
	var flags []string
	for _, name := range []string{"tolerance", "tolerances", "rank", "first_step", "last_step", "step_offset"} {
		flags = append(flags, "--"+strings.ReplaceAll(name, "_", "-")+" "+asked[name])
	}
	if r.Strict {
		flags = append(flags, "--strict")
	}
	if r.Payload {
		flags = append(flags, "--payload")
	}
	if r.Map != nil {
		flags = append(flags, "--map "+filepath.Base(r.Map.File)+" "+r.Map.Digest)
	}
	if r.Calibrate != "" {
		flags = append(flags, "--calibrate "+r.Calibrate)
	}
	if r.Limit > rememberedRows {
		flags = append(flags, "--limit "+asked["limit"])
	}
	return strings.Join(flags, " ")
}
