package system

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/tensortap/tensortap/analysis/compare"
	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/result"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/analysis/rules"
	"github.com/tensortap/tensortap/analysis/verdicts"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// storeVerdicts judges and publishes what came of each step that has ended: a unit under an id of its own, so that asking
// the same again stores nothing.
func (c *Client) storeVerdicts(ctx context.Context, r CompareRequest, request *compare.Request, job *compare.Job) (*compare.Answer, error) {
	declared := declaredComparison(r, request, c.now().UnixNano())
	w := &verdictWriter{id: schemas.DeclaredComparisonID(&declared)}
	w.problem, w.bench = job.Runs()
	var err error
	if w.known, err = c.judgedUnits(ctx, w.id); err != nil {
		return nil, err
	}
	if w.to, err = (&publishing{client: c}).newPublisher(); err != nil {
		return nil, err
	}
	answer, err := job.Run(ctx, func(at pair.Step, judged []judge.Judged, collected *result.Collector) error {
		return w.unit(ctx, at, judged, collected)
	})
	if err != nil {
		return nil, fmt.Errorf("judge %s against %s: %w", request.Problem, request.Benches[0], err)
	}
	if err := w.layouts(ctx, job.Definitions().Made()); err != nil {
		return nil, err
	}
	message, err := verdicts.Declared(declared)
	if err != nil {
		return nil, err
	}
	if err := w.to.Publish(ctx, message); err != nil {
		return nil, err
	}
	return answer, w.to.Flush(ctx)
}

// declaredComparison is what was asked for. Steps and ranks are no part of it: they say how much of it is judged now.
func declaredComparison(r CompareRequest, request *compare.Request, now int64) schemas.DeclaredComparisonRow {
	declared := schemas.DeclaredComparisonRow{
		DeclaredTimeNs: now, Problem: request.Problem, Benches: request.Benches, Tolerance: request.Judge.Tolerance,
		StepOffset: request.StepOffset, Rules: rules.Version,
	}
	for _, rule := range request.Judge.Rules {
		declared.Tolerances = append(declared.Tolerances, rule.Op+"\t"+rule.Dtype+"\t"+formatFloat(rule.Tolerance))
	}
	for _, e := range request.Judge.Exceptions {
		declared.Exceptions = append(declared.Exceptions, strings.Join([]string{e.API, e.Role, e.Path, e.Sort, e.Why}, "\t"))
	}
	if r.Strict {
		declared.Strict = 1
	}
	return declared
}

// judgedUnits are the epochs of what a comparison has judged before.
func (c *Client) judgedUnits(ctx context.Context, comparison uint64) (map[uint64]bool, error) {
	table, err := c.Table(ctx, "SELECT DISTINCT toString(epoch) AS unit FROM tap_store.judged_step WHERE comparison_id = {comparison:UInt64}",
		map[string]string{"comparison": strconv.FormatUint(comparison, 10)})
	if err != nil {
		return nil, fmt.Errorf("look for what was judged before: %w", err)
	}
	known := make(map[uint64]bool, len(table.Rows))
	for i := range table.Rows {
		epoch, err := strconv.ParseUint(table.Get(i, "unit").Exact, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("look for what was judged before: %w", err)
		}
		known[epoch] = true
	}
	return known, nil
}

// verdictWriter publishes what came of the steps of a comparison.
type verdictWriter struct {
	id             uint64
	problem, bench *rows.Run
	known          map[uint64]bool
	to             *pipelines.Publisher
}

// unit publishes a step, unless it has not ended or was published before. Its calls may overlap.
func (w *verdictWriter) unit(ctx context.Context, at pair.Step, judged []judge.Judged, collected *result.Collector) error {
	if at.InProblem && w.problem.StepAt(rows.Place{Rank: at.Rank, Step: at.Step}) == nil ||
		at.InBench && w.bench.StepAt(rows.Place{Rank: at.BenchRank, Step: at.BenchStep}) == nil {
		return nil
	}
	unit := verdicts.UnitOf(w.id, w.problem, w.bench, at)
	if w.known[unit.Epoch()] {
		return nil
	}
	messages, err := verdicts.Messages(unit, judged, collected)
	if err != nil {
		return err
	}
	for _, message := range messages {
		if err := w.to.Publish(ctx, message); err != nil {
			return err
		}
	}
	return nil
}

// layouts publishes those of tensors that were made of the parts of several ranks: verdicts name them.
func (w *verdictWriter) layouts(ctx context.Context, made []*schemas.LayoutRow) error {
	for _, l := range made {
		layout := schemas.NewBuilder[schemas.LayoutRow]()
		layout.Append(l)
		if err := publishBatch(ctx, w.to, layout, schemas.Identity{RunID: w.problem.ID, Epoch: l.LayoutID}); err != nil {
			return err
		}
	}
	return nil
}
