-- Question: which judging of a step counts, of several by the same comparison?
-- Grain: one row per comparison, rank, step that was judged
-- Reads: tap_store.judged_step
-- Empty when: nothing was judged
-- A step is judged again when it was replaced on either side; before it has ended, or while rows of it are missing, it is judged provisionally.
SELECT
    comparison_id,
    rank,
    step,
    argMax(tap_store.judged_step.epoch, (provisional = 0, generation, problem_row_count + bench_row_count, tap_store.judged_step.epoch)) AS epoch
FROM tap_store.judged_step
GROUP BY
    comparison_id,
    rank,
    step
