-- Question: which judging of a step counts, of several by the same comparison, and what did it judge?
-- Grain: one row per comparison, rank, step that was judged
-- Reads: tap_store.judged_step
-- Empty when: nothing was judged
-- A step is judged again when it was replaced on either side; before it has ended, or while rows of it are missing, it is judged provisionally.
SELECT
    comparison_id,
    rank,
    step,
    counts.1 AS epoch,
    counts.2 AS problem_epoch,
    counts.3 AS problem_row_count,
    counts.4 AS bench_rank,
    counts.5 AS bench_step,
    counts.6 AS bench_epoch,
    counts.7 AS bench_row_count,
    counts.8 AS differing_count
FROM
(
    SELECT
        comparison_id,
        rank,
        step,
        argMax(
            (epoch, problem_epoch, problem_row_count, bench_rank, bench_step, bench_epoch, bench_row_count, differing_count),
            (provisional = 0, generation, problem_row_count + bench_row_count, epoch)) AS counts
    FROM tap_store.judged_step
    GROUP BY
        comparison_id,
        rank,
        step
)
