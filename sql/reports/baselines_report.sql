-- Question: which baselines are set, and which runs are held against them?
-- Grain: one row per baseline that is set, by name
-- Reads: tap.baselines
-- Empty when: no baseline was set, or all were removed
-- Parameter limit = 100: greatest number of rows.
SELECT
    name,
    benches,
    labels,
    if(tolerance < 0, NULL, tolerance) AS tolerance,
    length(tolerances) AS tolerance_rule_count,
    length(exceptions) AS exception_count,
    step_offset,
    mapping != '' AS mapped,
    strict = 1 AS strict,
    changed_time_ns
FROM tap.baselines
ORDER BY name
LIMIT {limit:UInt64}
