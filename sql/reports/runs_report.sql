-- Question: which runs are stored, and are they alive?
-- Grain: one row per run, latest first
-- Reads: tap.runs
-- Empty when: no run was published
-- Shown: name, status, source, level, model, dtype, world_size, rank_count, step_count, last_event_time_ns, bytes, pinned, labels
-- Parameter measured = []: what tables cannot know alone: run, bytes in tables and archive, whether it is pinned.
-- Parameter limit = 100: greatest number of rows.
WITH
    {measured:Array(Tuple(UInt64, UInt64, UInt8))} AS known,
    indexOf(arrayMap(one -> tupleElement(one, 1), known), run_id) AS place
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
    if(place > 0, toNullable(tupleElement(known[place], 2)), NULL) AS bytes,
    if(place > 0, tupleElement(known[place], 3), 0) AS pinned,
    labels,
    leftPad(lower(hex(run_id)), 16, '0') AS run_id_hex
FROM tap.runs
ORDER BY
    last_event_time_ns DESC,
    name
LIMIT {limit:UInt64}
