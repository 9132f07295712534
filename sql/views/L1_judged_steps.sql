-- Question: what came of each step of each rank that was judged?
-- Grain: one row per comparison, rank, step; judgings of what was replaced are hidden
-- Reads: tap_store.judged_step, tap.kept_judgings
-- Empty when: nothing was judged
SELECT
    comparison_id,
    run_id,
    rank,
    step,
    bench_rank,
    bench_step,
    problem_program_id,
    bench_program_id,
    generation,
    provisional,
    paired_count,
    only_problem_count,
    only_bench_count,
    unknown_count,
    alone_unknown_count,
    equal_count,
    within_count,
    agrees_count,
    diverged_count,
    not_finite_count,
    structure_count,
    measured_count,
    proved_equal_count,
    argument_count,
    same_not_finite_count,
    bits_differ_count,
    uninitialised_count,
    differing_count,
    unknown_reasons,
    greatest_error,
    first_seq,
    first_micro_step,
    first_site_id,
    first_verdict,
    first_evidence,
    first_error,
    first_tolerance,
    first_side,
    first_reason,
    first_error_in,
    first_error_out,
    epoch,
    event_time_ns
FROM tap_store.judged_step
WHERE (comparison_id, rank, step, epoch) IN (
    SELECT
        comparison_id,
        rank,
        step,
        epoch
    FROM tap.kept_judgings
)
