package system

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tensortap/tensortap/analysis/compare"
	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/producers/agent"
	"github.com/tensortap/tensortap/schemas"
)

// Compare pairs the ops of stored runs and holds them against each other.
func (c *Client) Compare(ctx context.Context, r CompareRequest) (report.Comparison, *compare.Answer, error) {
	comparison, err := c.prepare(ctx, r)
	if err != nil {
		return comparison, nil, err
	}
	answer, err := c.fill(ctx, r, &comparison)
	if err != nil {
		return comparison, nil, err
	}
	comparison.Verdict = comparison.Judge()
	return comparison, answer, c.remember(ctx, r, &comparison)
}

// prepare makes sure that all runs are stored.
func (c *Client) prepare(ctx context.Context, r CompareRequest) (report.Comparison, error) {
	if err := r.Validate(); err != nil {
		return report.Comparison{}, err
	}
	comparison := report.Comparison{
		Problem: r.Problem, Benches: slices.Clone(r.Benches), Tolerance: r.Tolerance.String(), Strict: r.Strict, Stored: true,
		ProblemArgument: report.Argument(r.Problem), BenchArgument: report.Argument(r.Bench()), Asked: r.asked(),
	}
	if err := errors.Join(r.CheckFolders(), CheckRange(r.Steps)); err != nil {
		return comparison, err
	}
	for _, run := range r.Sides() {
		if err := c.checkNamed(ctx, run); err != nil {
			return comparison, err
		}
	}
	return comparison, c.CheckRank(ctx, comparison.Problem, r.Rank)
}

// runNames makes different names for the runs in folders, the problem's first. A path may be longer than a name, or
// not be text.
func runNames(folders []string) []string {
	const most = 190
	names := make([]string, len(folders))
	for i, path := range folders {
		runes := []rune(strings.ToValidUTF8(path, "?"))
		if len(runes) > most {
			runes = append([]rune{'…'}, runes[len(runes)-most+1:]...)
		}
		names[i] = string(runes)
		if slices.Contains(names[:i], names[i]) {
			names[i] += fmt.Sprintf(" (bench %d)", i)
		}
	}
	return names
}

// fill judges the runs.
func (c *Client) fill(ctx context.Context, r CompareRequest, comparison *report.Comparison) (*compare.Answer, error) {
	answer, err := c.judgeStored(ctx, r, comparison)
	if err != nil {
		return nil, err
	}
	answer.Fill(comparison)
	c.findLiving(ctx, comparison)
	if comparison.Failures, err = c.Failures(ctx, comparison.Runs()...); err != nil {
		return nil, err
	}
	if comparison.Tokens, err = c.TokenRows(ctx, comparison.Problem, comparison.Bench()); err != nil {
		return nil, err
	}
	comparison.Remembered = comparison.Divergence.Without(answer.Texts())
	comparison.Divergence.Rows = comparison.Divergence.Rows[:min(uint64(len(comparison.Divergence.Rows)), r.Limit)]
	return answer, nil
}

// findLiving says which of the runs can be asked for more. It is for advice alone: where nobody knows, none can.
func (c *Client) findLiving(ctx context.Context, comparison *report.Comparison) {
	for i, run := range []string{comparison.Problem, comparison.Bench()} {
		recorded := &comparison.Recorded[i]
		if recorded.Source == schemas.SourceCollector {
			living, err := c.living(ctx, &agent.Request{RunID: schemas.RunID(run)})
			recorded.Live = err == nil && len(living) > 0
		}
	}
}

// rememberedRows is how many rows that differ are stored with a comparison, whatever it shows: the next one is held
// against them.
const rememberedRows = 1000
