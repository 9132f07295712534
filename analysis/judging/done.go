package judging

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/analysis/report"
)

// judgedQuery sums up what a comparison has judged, and which judgings of the first step that differs its origins rest on.
const judgedQuery = `SELECT
    toString((countIf(problem_epoch != 0), sumIf(cityHash64(rank, step, problem_epoch), problem_epoch != 0))) AS problem_steps,
    groupUniqArray((bench_rank, bench_step, bench_epoch, bench_row_count)) AS benches,
    arrayFilter(b -> b.3 != 0, benches) AS ended,
    toString((length(ended), arraySum(b -> cityHash64(b.1, b.2, b.3), ended))) AS bench_steps,
    sum(problem_row_count) AS problem_rows,
    arraySum(b -> b.4, benches) AS bench_rows,
    minIf(step, differing_count > 0) AS first_step,
    groupArrayIf((step, rank, epoch), differing_count > 0) AS differing,
    empty(differing) OR cityHash64(arraySort(arrayMap(d -> (d.2, d.3), arrayFilter(d -> d.1 = first_step, differing))))
        = (SELECT argMax(basis, revision) FROM tap_store.origin WHERE comparison_id = {comparison:UInt64}) AS originated
FROM tap.kept_judgings
WHERE comparison_id = {comparison:UInt64}`

// thereQuery sums up in the same way what there is to be judged.
const thereQuery = `SELECT
    toString((countIf(run_id = {problem_id:UInt64}), sumIf(cityHash64(rank, step, epoch), run_id = {problem_id:UInt64}))) AS problem_steps,
    toString((countIf(run_id = {bench_id:UInt64}), sumIf(cityHash64(rank, step, epoch), run_id = {bench_id:UInt64}))) AS bench_steps,
    (SELECT count() FROM tap_store.tensor WHERE run_id = {problem_id:UInt64}) AS problem_rows,
    (SELECT count() FROM tap_store.tensor WHERE run_id = {bench_id:UInt64}) AS bench_rows
FROM (
    SELECT run_id, rank, step, epoch
    FROM tap_store.step
    WHERE run_id = {problem_id:UInt64} OR run_id = {bench_id:UInt64} AND toInt64(step) >= {step_offset:Int64}
    ORDER BY run_id, rank, step, generation DESC, event_time_ns DESC, epoch DESC
    LIMIT 1 BY run_id, rank, step
)`

// upToDate says whether every step is judged as the database has it, and the origins rest on that. Where the sums agree it
// asks no further.
func (k *Keeper) upToDate(ctx context.Context, c Comparison) (bool, error) {
	var judged, there report.Table
	group, askCtx := errgroup.WithContext(ctx)
	group.Go(func() (err error) { judged, err = k.Door.Table(askCtx, judgedQuery, c.parameters()); return err })
	group.Go(func() (err error) { there, err = k.Door.Table(askCtx, thereQuery, c.parameters()); return err })
	if err := group.Wait(); err != nil {
		return false, fmt.Errorf("look how far %s is judged: %w", c.Request.Problem, err)
	}
	if !judged.Get(0, "originated").True() {
		return false, nil
	}
	for _, sum := range []string{"problem_steps", "bench_steps", "problem_rows", "bench_rows"} {
		if judged.Get(0, sum).Exact != there.Get(0, sum).Exact {
			lacking, err := k.Lacking(ctx, c)
			return lacking == 0, err
		}
	}
	return true, nil
}
