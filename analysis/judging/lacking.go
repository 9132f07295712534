package judging

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/verdicts"
	"github.com/tensortap/tensortap/schemas"
)

// latestQuery says which comparison of the problem, with whatever bench, was asked for last, when, and whether this one stands.
const latestQuery = `SELECT
    argMax(comparison_id, declared_time_ns) = {comparison:UInt64} AS latest,
    toString(max(declared_time_ns)) AS at,
    maxIf(standing, comparison_id = {comparison:UInt64}) AS standing
FROM tap_store.declared_comparison
WHERE problem = {problem:String}`

// Declare publishes what is asked for, unless it was asked for last. What stands goes on standing.
func (k *Keeper) Declare(ctx context.Context, c Comparison) error {
	_, err := k.declare(ctx, c)
	return err
}

func (k *Keeper) declare(ctx context.Context, c Comparison) (published bool, err error) {
	table, err := k.Door.Table(ctx, latestQuery, c.parameters())
	if err != nil {
		return false, fmt.Errorf("look for the comparison of %s: %w", c.Request.Problem, err)
	}
	stands := table.Get(0, "standing").True()
	if table.Get(0, "latest").True() && (!c.Standing || stands) || c.Standing && stands {
		return false, nil
	}
	c.Standing = c.Standing || stands
	at, err := strconv.ParseInt(table.Get(0, "at").Exact, 10, 64)
	if err != nil {
		return false, fmt.Errorf("look for the comparison of %s: %w", c.Request.Problem, err)
	}
	message, err := verdicts.Declared(c.row(max(k.Now().UnixNano(), at+1))) // also where the other host's clock goes before
	if err != nil {
		return false, err
	}
	return true, k.Publish(ctx, message)
}

func (c Comparison) parameters() map[string]string {
	r := &c.Request
	return map[string]string{
		"comparison": strconv.FormatUint(c.ID(), 10), "problem": r.Problem, "bench": r.Benches[0], "step_offset": strconv.FormatInt(r.StepOffset, 10),
		"problem_id": strconv.FormatUint(schemas.RunID(r.Problem), 10), "bench_id": strconv.FormatUint(schemas.RunID(r.Benches[0]), 10),
	}
}

// lackingQuery counts the ended steps of both runs that have no verdict, and says whether both have the rows that were
// judged. A step of the bench that stands beside several of the problem is counted once. It reads no tensor.
const lackingQuery = `WITH
    judged AS (
        SELECT rank, step, problem_epoch, bench_rank, bench_step, bench_epoch, problem_row_count, bench_row_count
        FROM tap.kept_judgings
        WHERE comparison_id = {comparison:UInt64}
    ),
    problem_steps AS (
        SELECT rank, step, epoch
        FROM tap_store.step
        WHERE run_id = {problem_id:UInt64}
        ORDER BY rank, step, generation DESC, event_time_ns DESC, epoch DESC
        LIMIT 1 BY rank, step
    ),
    bench_steps AS (
        SELECT rank, step, epoch
        FROM tap_store.step
        WHERE run_id = {bench_id:UInt64} AND toInt64(step) >= {step_offset:Int64}
        ORDER BY rank, step, generation DESC, event_time_ns DESC, epoch DESC
        LIMIT 1 BY rank, step
    )
SELECT
    (SELECT count() FROM problem_steps WHERE (rank, step, epoch) NOT IN (SELECT rank, step, problem_epoch FROM judged)) AS problem_count,
    (SELECT count() FROM bench_steps WHERE (rank, step, epoch) NOT IN (SELECT bench_rank, bench_step, bench_epoch FROM judged)) AS bench_count,
    (SELECT count() FROM tap_store.tensor WHERE run_id = {problem_id:UInt64}) != (SELECT sum(problem_row_count) FROM judged)
        OR (SELECT count() FROM tap_store.tensor WHERE run_id = {bench_id:UInt64}) != (SELECT sum(bench_rows) FROM (SELECT max(bench_row_count) AS bench_rows FROM judged GROUP BY bench_rank, bench_step)) AS others`

// Lacking is how many steps of either run have no verdict; at least one where a run has other rows than were judged.
func (k *Keeper) Lacking(ctx context.Context, c Comparison) (uint64, error) {
	table, err := k.Door.Table(ctx, lackingQuery, c.parameters())
	if err != nil {
		return 0, fmt.Errorf("look for steps of %s that are not judged: %w", c.Request.Problem, err)
	}
	lacking := uint64(table.Get(0, "problem_count").Number + table.Get(0, "bench_count").Number)
	if lacking == 0 && table.Get(0, "others").True() {
		lacking = 1
	}
	return lacking, nil
}

// Done says whether all steps that the request asks for are judged as the database has them. It reads no tensor.
func (k *Keeper) Done(ctx context.Context, c Comparison) (bool, error) {
	if c.Request.Rank < 0 && c.Request.Steps.All() {
		return k.upToDate(ctx, c)
	}
	job, err := k.Open(ctx, c.Request)
	if err != nil {
		return false, err
	}
	w, err := k.writer(ctx, c, job)
	if err != nil {
		return false, err
	}
	return len(job.Steps()) > 0 && !slices.ContainsFunc(job.Steps(), func(at pair.Step) bool { return !w.known(at) }), nil
}

// units are the epochs of what a comparison has judged before.
func (k *Keeper) units(ctx context.Context, comparison uint64) (map[uint64]bool, error) {
	table, err := k.Door.Table(ctx, "SELECT DISTINCT toString(epoch) AS unit FROM tap_store.judged_step WHERE comparison_id = {comparison:UInt64}",
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
