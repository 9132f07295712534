-- Question: which comparisons were made, and what did they answer?
-- Grain: one row per comparison
-- Reads: tap_store.comparison
-- Empty when: no stored runs were compared
SELECT
    comparison_id,
    created_time_ns,
    problem,
    benches,
    rules,
    tool_version,
    question,
    verdict,
    complete,
    paired_count,
    only_problem_count,
    only_bench_count,
    unknown_count,
    equal_count,
    within_count,
    agrees_count,
    diverged_count,
    not_finite_count,
    structure_count
FROM tap_store.comparison FINAL
