-- Question: how did the memory of a run go, of all and by component, as a picture of so many columns?
-- Grain: one row per rank, device, component, column of the picture that was looked at
-- Reads: tap.memories
-- Empty when: no rank of the run measured its memory at the end of a step
-- Parameter run: name of the run.
-- Parameter rank = -1: only this rank; -1 for all.
-- Parameter first_step = 0: first step.
-- Parameter last_step = -1: last step; -1 for all.
-- Parameter width = 1000: greatest number of columns.
-- A column stands for step_count steps from the step on, and its bytes are the greatest there; the time is that of the last
-- look. Of several looks in a step, as in the snapshot of an allocator, the last counts. Component all is the whole device or
-- host. Of kv, allocated is in use and reserved the capacity; of activations the peak alone is known.
WITH
    (
        SELECT throwIf({width:UInt64} = 0, 'a picture has a width of 1 at least')
    ) AS fault_count,
    looks AS (
        SELECT
            rank,
            device,
            component,
            step,
            argMax(tuple(m.allocated_bytes), seq).1 AS allocated_bytes,
            argMax(tuple(m.reserved_bytes), seq).1 AS reserved_bytes,
            argMax(tuple(m.host_resident_bytes), seq).1 AS host_resident_bytes,
            max(m.peak_bytes) AS peak_bytes,
            max(m.event_time_ns) AS time_ns
        FROM tap.memories AS m
        WHERE run_id = xxh3(concat({run:String}, char(31))) AND op_id = 0
            AND ({rank:Int64} = -1 OR rank = {rank:Int64})
            AND step >= {first_step:Int64}
            AND ({last_step:Int64} = -1 OR step <= {last_step:Int64})
        GROUP BY
            rank,
            device,
            component,
            step
    ),
    (
        SELECT (min(step), max(step))
        FROM looks
    ) AS reach,
    toUInt32(greatest(1, intDiv(reach.2 - reach.1 + {width:UInt64}, {width:UInt64}))) AS steps_of_column,
    columns AS (
        SELECT
            rank,
            device,
            component,
            intDiv(step - reach.1, steps_of_column) AS column_index,
            max(looks.allocated_bytes) AS allocated_bytes,
            max(looks.reserved_bytes) AS reserved_bytes,
            max(looks.host_resident_bytes) AS host_resident_bytes,
            max(looks.peak_bytes) AS peak_bytes,
            max(looks.time_ns) AS time_ns
        FROM looks
        WHERE fault_count = 0
        GROUP BY
            rank,
            device,
            component,
            column_index
    )
SELECT
    rank,
    device,
    component,
    toUInt32(reach.1 + column_index * steps_of_column) AS step,
    steps_of_column AS step_count,
    allocated_bytes,
    reserved_bytes,
    peak_bytes,
    host_resident_bytes,
    time_ns
FROM columns
ORDER BY
    rank,
    device,
    component,
    step
