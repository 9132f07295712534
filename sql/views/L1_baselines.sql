-- Question: which runs are others held against, as they land?
-- Grain: one row per baseline that is set
-- Reads: tap_store.baseline
-- Empty when: no baseline was set, or all were removed
SELECT
    name,
    changed_time_ns,
    benches,
    labels,
    tolerance,
    tolerances,
    exceptions,
    step_offset,
    mapping,
    strict
FROM
(
    SELECT
        name,
        changed_time_ns,
        removed,
        benches,
        labels,
        tolerance,
        tolerances,
        exceptions,
        step_offset,
        mapping,
        strict
    FROM tap_store.baseline
    ORDER BY
        name,
        changed_time_ns DESC,
        removed DESC
    LIMIT 1 BY name
)
WHERE removed = 0
