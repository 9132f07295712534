-- Question: which runs are stored, and are they alive?
-- Grain: one row per run, latest first
-- Reads: tap.runs
-- Empty when: no run was published
-- Shown: name, status, source, level, model, dtype, world_size, rank_count, step_count, last_event_time_ns, labels
-- Parameter limit = 100: greatest number of rows.
SELECT
    name,
    status,
    source,
    level,
    task,
    model,
    framework,
    framework_version,
    dtype,
    world_size,
    rank_count,
    step_count,
    first_step,
    last_step,
    last_event_time_ns,
    labels,
    leftPad(lower(hex(run_id)), 16, '0') AS run_id_hex
FROM tap.runs
ORDER BY
    last_event_time_ns DESC,
    name
LIMIT {limit:UInt64}
