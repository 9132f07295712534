-- Question: what did each counter of memory say at the end of each step of a run?
-- Grain: one row per rank, device, counter, step; what was not measured has none
-- Reads: tap.memories
-- Empty when: no rank of the run measured its memory at the end of a step
-- Parameter run: name of the run.
-- Parameter first_step = 0: first step.
-- Parameter last_step = -1: last step; -1 for all.
-- Of several looks in a step, as in the snapshot of an allocator, the last counts.
WITH wanted AS (
    SELECT
        rank,
        device,
        step,
        arrayJoin([
            ('allocated', argMax(tuple(allocated_bytes), seq)),
            ('reserved', argMax(tuple(reserved_bytes), seq)),
            ('host resident', argMax(tuple(host_resident_bytes), seq))
        ]) AS counter_value,
        max(peak_bytes) AS step_peak_bytes,
        max(retry_count) AS step_retry_count,
        max(oom_count) AS step_oom_count
    FROM tap.memories
    WHERE run_id = xxh3(concat({run:String}, char(31))) AND op_id = 0
        AND step >= {first_step:Int64}
        AND ({last_step:Int64} = -1 OR step <= {last_step:Int64})
    GROUP BY
        rank,
        device,
        step
)
SELECT
    rank,
    device,
    step,
    tupleElement(counter_value, 1) AS counter,
    assumeNotNull(tupleElement(tupleElement(counter_value, 2), 1)) AS bytes,
    step_peak_bytes,
    step_retry_count,
    step_oom_count
FROM wanted
WHERE tupleElement(tupleElement(counter_value, 2), 1) IS NOT NULL
