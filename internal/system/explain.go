package system

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/tensortap/tensortap/analysis/compare"
	"github.com/tensortap/tensortap/analysis/explain"
	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/analysis/rows/store"
	"github.com/tensortap/tensortap/internal/steps"
)

// ExplainRequest says which op of which runs to explain. Begin with DefaultExplainRequest.
type ExplainRequest struct {
	Compare    CompareRequest // runs and how to judge; its steps and limit are not looked at
	Name       string         // of an op or a module, or a part of it that only one has
	Step       int64          // of the problem; -1, as for the rank, for the first at which the op differs
	Before     int            // ops before it to show
	WholeStack bool
}

// DefaultExplainRequest shows a few ops before the op.
func DefaultExplainRequest() ExplainRequest {
	return ExplainRequest{Compare: DefaultCompareRequest(), Step: -1, Before: 6}
}

// longestName bounds what is looked for among the names of ops.
const longestName = 1000

// Validate says what is wrong with the request.
func (r ExplainRequest) Validate() error {
	switch {
	case r.Name == "":
		return errors.New("the name of an op is empty: give that of an op or a module, or part of one")
	case utf8.RuneCountInString(r.Name) > longestName || !utf8.ValidString(r.Name):
		return fmt.Errorf("the name of an op has %d characters: want UTF-8 and at most %d", utf8.RuneCountInString(r.Name), longestName)
	case r.Before < 0:
		return fmt.Errorf("%d ops before it: want 0 or more", r.Before)
	}
	return r.Compare.Validate()
}

// explanation is of the runs as the user wrote them.
func (r ExplainRequest) explanation() report.Explanation {
	problem, bench := r.Compare.Problem, r.Compare.Bench()
	return report.Explanation{
		Problem: problem, Bench: bench, WholeStack: r.WholeStack,
		ProblemArgument: report.Argument(problem), BenchArgument: report.Argument(bench),
	}
}

// analysis compares all places of the runs of these names, which those of an op are taken from.
func (r ExplainRequest) analysis(names []string) compare.Request {
	all := r.Compare
	all.Rank, all.Steps = -1, steps.All()
	return all.analysis(names)
}

// ExplainFolders explains an op of dumps on disk; nothing is stored and nothing is started.
func ExplainFolders(ctx context.Context, r ExplainRequest) (report.Explanation, error) {
	e := r.explanation()
	source, names, err := openFolders(ctx, r.Compare)
	e.Problem, e.Bench = names[0], names[1]
	if err != nil {
		return e, err
	}
	e.Warnings, e.WarningCount = source.Problems()
	job, err := compare.Open(ctx, source, r.analysis(names))
	if err != nil {
		return e, err
	}
	return e, r.explain(ctx, job, &e)
}

// explain fills in what the comparison says of the op.
func (r ExplainRequest) explain(ctx context.Context, job *compare.Job, e *report.Explanation) error {
	answer, err := explain.Run(ctx, job, explain.Request{Name: r.Name, Rank: r.Compare.Rank, Step: r.Step, Before: r.Before})
	if err != nil {
		return err
	}
	if tooMany := job.TooManyPrograms(); tooMany != nil {
		e.Gaps = append(e.Gaps, tooMany.Error())
	}
	answer.Fill(e)
	return nil
}

// Explain says of one op of stored runs how it was paired, what it took and gave in both, and what ran before it.
func (c *Client) Explain(ctx context.Context, r ExplainRequest) (report.Explanation, error) {
	e := r.explanation()
	e.Stored, r.Compare.Stored = true, true
	if err := r.Validate(); err != nil {
		return e, err
	}
	for _, run := range r.Compare.sides() {
		if err := c.checkNamed(ctx, run); err != nil {
			return e, err
		}
	}
	request := r.analysis(r.Compare.sides())
	job, err := c.openStored(ctx, store.Open(c.database), &request)
	if err != nil {
		return e, err
	}
	if err := r.explain(ctx, job, &e); err != nil || len(job.Merges()) > 0 { // msProbe knows no merged ranks
		return e, err
	}
	return e, c.askMsprobe(ctx, r, job, &e)
}

// askMsprobe asks what msProbe's own compare says of the op, where msProbe observed both runs.
func (c *Client) askMsprobe(ctx context.Context, r ExplainRequest, job *compare.Job, e *report.Explanation) error {
	byMsprobe, err := c.BothFrom(ctx, "msprobe", e.Problem, e.Bench)
	if err != nil || !byMsprobe {
		return err
	}
	published, err := c.publishAlignments(ctx, job)
	if err != nil {
		return fmt.Errorf("store how %s is aligned with %s: %w", e.Problem, e.Bench, err)
	}
	if published {
		if err := c.WaitStored(ctx); err != nil {
			return err
		}
	}
	e.Msprobe, err = c.Report(ctx, "op_msprobe", map[string]string{
		"problem": e.Problem, "bench": e.Bench, "op": e.Op, "step_offset": strconv.FormatInt(r.Compare.StepOffset, 10),
		"rank": strconv.FormatInt(e.Rank, 10), "step": strconv.FormatInt(e.Step, 10),
	})
	return err
}
