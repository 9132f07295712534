-- Question: which places did comparisons name?
-- Grain: one row per comparison, position in its answer
-- Reads: tap_store.finding
-- Empty when: no comparison of stored runs found a difference
SELECT
    comparison_id,
    position,
    origin,
    rank,
    step,
    op,
    module,
    role,
    path,
    kind,
    verdict,
    evidence,
    error,
    tolerance,
    user_frame
FROM tap_store.finding FINAL
