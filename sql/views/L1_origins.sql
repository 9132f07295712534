-- Question: where did the problem of each comparison begin to differ?
-- Grain: one row per comparison, place where its difference began, by the latest answer
-- Reads: tap_store.origin, tap.kept_judgings, tap_store.judged_step
-- Empty when: nothing differs, or nothing was judged
-- A step that was replaced and differs no more is the origin of nothing.
SELECT
    comparison_id,
    revision,
    position,
    rank,
    step,
    seq,
    micro_step,
    micro_step_count,
    op,
    module,
    role,
    path,
    kind,
    parameter,
    operation,
    verdict,
    reason,
    evidence,
    error,
    tolerance,
    side,
    problem_layout_id,
    bench_layout_id,
    problem_min,
    bench_min,
    problem_max,
    bench_max,
    problem_mean,
    bench_mean,
    problem_l2,
    bench_l2,
    user_frame,
    concurrent_count,
    at_or_before,
    unseen
FROM tap_store.origin FINAL
WHERE (comparison_id, revision) IN (
    SELECT
        comparison_id,
        max(tap_store.origin.revision)
    FROM tap_store.origin
    GROUP BY comparison_id
) AND (comparison_id, rank, step) IN (
    SELECT
        comparison_id,
        rank,
        step
    FROM tap_store.judged_step
    WHERE differing_count > 0 AND (comparison_id, rank, step, epoch) IN (
        SELECT
            comparison_id,
            rank,
            step,
            epoch
        FROM tap.kept_judgings
    )
)
