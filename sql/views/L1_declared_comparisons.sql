-- Question: which comparisons were asked for, by which rules?
-- Grain: one row per comparison
-- Reads: tap_store.declared_comparison
-- Empty when: no comparison was asked for
SELECT
    comparison_id,
    declared_time_ns,
    problem,
    benches,
    tolerance,
    tolerances,
    exceptions,
    step_offset,
    strict,
    standing,
    rules
FROM tap_store.declared_comparison
ORDER BY
    comparison_id,
    declared_time_ns DESC,
    standing DESC
LIMIT 1 BY comparison_id
