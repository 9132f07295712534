-- Question: which runs are stored, and are they alive?
-- Grain: one row per run, latest first
-- Reads: tap.runs, tap_store.removal
-- Empty when: no run was published
-- Shown: name, status, source, level, model, dtype, world_size, rank_count, step_count, last_event_time_ns, bytes, pinned, removed, labels
-- Parameter measured = []: what tables cannot know alone: run, bytes in tables and archive, whether it is pinned.
-- Parameter limit = 100: greatest number of rows.
WITH
    {measured:Array(Tuple(UInt64, UInt64, UInt8))} AS known,
    indexOf(arrayMap(one -> tupleElement(one, 1), known), runs.run_id) AS place,
    gone AS (
        SELECT
            run_id,
            arrayStringConcat(arraySort(groupUniqArray(part)), ', ') AS removed
        FROM tap_store.removal
        GROUP BY run_id
    )
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
    gone.removed AS removed,
    labels,
    leftPad(lower(hex(runs.run_id)), 16, '0') AS run_id_hex
FROM tap.runs AS runs
LEFT ANY JOIN gone ON gone.run_id = runs.run_id
ORDER BY
    last_event_time_ns DESC,
    name
LIMIT {limit:UInt64}
