package system

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/analysis/ask"
	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/steps"
)

// ExplainRequest says which op of which runs to explain. Begin with DefaultExplainRequest.
type ExplainRequest struct {
	Compare    CompareRequest // names of stored runs and how to judge; its steps and limit are not looked at
	Name       string         // of an op or a module, or a part of it that only one has
	Step       int64          // of the problem; -1, as for the rank, for the first at which the op differs
	Before     int            // ops before it to show
	WholeStack bool
}

// DefaultExplainRequest shows a few ops before the op.
func DefaultExplainRequest() ExplainRequest {
	return ExplainRequest{Compare: DefaultCompareRequest(), Step: -1, Before: 6}
}

// longestName bounds what is looked for among the names of ops, candidates how many are listed.
const (
	longestName = 1000
	candidates  = 20
)

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

// Explain says of one op how it was paired, what it took and gave in both runs, and what ran before it.
func (c *Client) Explain(ctx context.Context, r ExplainRequest) (report.Explanation, error) {
	if err := r.Validate(); err != nil {
		return report.Explanation{}, err
	}
	problem, bench := r.Compare.Problem, r.Compare.Bench()
	e := report.Explanation{
		Problem: problem, Bench: bench, Rank: r.Compare.Rank, Step: r.Step, WholeStack: r.WholeStack,
		ProblemArgument: report.Argument(problem), BenchArgument: report.Argument(bench),
	}
	for _, run := range append([]string{problem}, r.Compare.Benches...) {
		if err := c.CheckRun(ctx, run); err != nil {
			return e, err
		}
	}
	if err := c.CheckRank(ctx, problem, r.Compare.Rank); err != nil {
		return e, err
	}
	if err := c.Align(ctx, problem, bench, r.Compare.StepOffset); err != nil {
		if many := (*pair.TooManyProgramsError)(nil); !errors.As(err, &many) {
			return e, err
		}
		e.Gaps = append(e.Gaps, err.Error())
	}
	if err := c.mergeExplained(ctx, &r, &e); err != nil {
		return e, err
	}
	if err := c.findOp(ctx, r, &e); err != nil {
		return e, err
	}
	if err := c.findPlace(ctx, r, &e); err != nil {
		return e, err
	}
	return e, c.fillExplanation(ctx, r, &e)
}

// findOp finds which op is meant.
func (c *Client) findOp(ctx context.Context, r ExplainRequest, e *report.Explanation) error {
	names, err := c.Report(ctx, "op_names", map[string]string{
		"problem": e.Problem, "bench": e.Bench, "name": r.Name, "limit": strconv.Itoa(candidates),
	})
	if err != nil {
		return err
	}
	if len(names.Rows) == 0 {
		return fmt.Errorf("neither %s nor %s has an op", e.Problem, e.Bench)
	}
	by := names.Get(0, "matched_by").Exact
	alike := ask.AlikeNames(names, by)
	total := int(names.Get(0, "alike_count").Number)
	switch {
	case by == "near":
		return fmt.Errorf("neither %s nor %s has an op or a module with %q in its name; the nearest are:\n  %s",
			e.Problem, e.Bench, r.Name, strings.Join(alike[:min(len(alike), 5)], "\n  "))
	case by == "part" && total > 1, by == "module" && names.Get(0, "alike_module_count").Number > 1:
		return fmt.Errorf("%d ops have %q in the name of them or of their module, give one of:\n  %s%s", total, r.Name, strings.Join(alike, "\n  "), andMore(total-len(alike)))
	}
	e.Op = alike[0]
	if by == "module" {
		e.Others, e.OtherCount = alike[1:min(len(alike), 4)], total-1
	}
	return nil
}

func andMore(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf("\n  and %d more", n)
}

// findPlace chooses rank and step where they are not given: the first that differs, else the first that has the op.
func (c *Client) findPlace(ctx context.Context, r ExplainRequest, e *report.Explanation) error {
	var err error
	if e.Steps, err = c.Report(ctx, "op_steps", r.parameters(e.Op)); err != nil {
		return err
	}
	for i := range e.Steps.Rows {
		rank, step := int64(e.Steps.Get(i, "rank").Number), int64(e.Steps.Get(i, "step").Number)
		if (r.Compare.Rank == -1 || r.Compare.Rank == rank) && (r.Step == -1 || r.Step == step) {
			e.Rank, e.Step = rank, step
			return nil
		}
	}
	return fmt.Errorf("op %s has no tensor or other argument at rank %s, step %s of %s; ranks that have it: %s; steps: %s",
		e.Op, orAny(r.Compare.Rank), orAny(r.Step), e.Problem, steps.Spans(distinctNumbers(e.Steps, "rank")), steps.Spans(distinctNumbers(e.Steps, "step")))
}

// distinctNumbers are the numbers in a column, in ascending order.
func distinctNumbers(t report.Table, column string) []int64 {
	var numbers []int64
	for i := range t.Rows {
		numbers = append(numbers, int64(t.Get(i, column).Number))
	}
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

func orAny(n int64) string {
	if n == -1 {
		return "any"
	}
	return strconv.FormatInt(n, 10)
}

// parameters are those of the reports on all places of the op.
func (r ExplainRequest) parameters(op string) map[string]string {
	everywhere := r.Compare
	everywhere.Rank, everywhere.Steps, everywhere.Limit = -1, steps.All(), mostPlaces
	parameters := everywhere.Parameters(r.Compare.Problem, r.Compare.Benches)
	parameters["op"] = op
	return parameters
}

// mostPlaces is how many steps and ranks of an op are looked at.
const mostPlaces = 1000

// fillExplanation asks all that the text shows of the chosen place.
func (c *Client) fillExplanation(ctx context.Context, r ExplainRequest, e *report.Explanation) error {
	parameters := r.parameters(e.Op)
	parameters["rank"], parameters["step"] = strconv.FormatInt(e.Rank, 10), strconv.FormatInt(e.Step, 10)
	before := maps.Clone(parameters)
	before["limit"] = strconv.Itoa(r.Before + 1) // the op itself is the first
	group, askCtx := errgroup.WithContext(ctx)
	ask := func(into *report.Table, name string, with map[string]string) {
		group.Go(func() (err error) {
			*into, err = c.Report(askCtx, name, with)
			return err
		})
	}
	ask(&e.Rows, "explain_op", parameters)
	ask(&e.Context, "op_context", before)
	place := map[string]string{"run": e.Problem, "op": e.Op, "rank": parameters["rank"], "step": parameters["step"]}
	ask(&e.Place, "op_place", place)
	group.Go(func() error {
		byMsprobe, err := c.BothFrom(askCtx, "msprobe", r.Compare.Problem, r.Compare.Bench())
		if err == nil && byMsprobe {
			e.Msprobe, err = c.Report(askCtx, "op_msprobe", parameters)
		}
		return err
	})
	group.Go(func() error {
		gaps, err := c.Gaps(askCtx, e.Problem, e.Bench)
		e.Gaps = append(e.Gaps, gaps...)
		return err
	})
	if err := group.Wait(); err != nil {
		return err
	}
	if len(e.Rows.Rows) == 0 {
		return fmt.Errorf("op %s is not at rank %d, step %d of %s", e.Op, e.Rank, e.Step, e.Problem)
	}
	if err := c.fillParts(ctx, e); err != nil || len(e.Place.Rows) > 0 {
		return err
	}
	// Only the bench has it.
	place["run"] = e.Bench
	var err error
	e.Place, err = c.Report(ctx, "op_place", place)
	return err
}
