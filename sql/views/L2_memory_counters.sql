-- Question: what did each counter of memory say at the end of each step of a run, of all and of each component?
-- Grain: one row per rank, device, component, counter, step; what was not measured has none
-- Reads: tap.memories
-- Empty when: no rank of the run measured its memory at the end of a step
-- Parameter run: name of the run.
-- Parameter first_step = 0: first step.
-- Parameter last_step = -1: last step; -1 for all.
-- Of several looks in a step, as in the snapshot of an allocator, the last counts. The bytes of activations are those of
-- their peak: what is left of them at the end of a step cannot be told from what else is.
WITH wanted AS (
    SELECT
        rank,
        device,
        component,
        step,
        arrayJoin([
            ('allocated', argMax(tuple(if(component = 'activations', m.peak_bytes, m.allocated_bytes)), seq)),
            ('reserved', argMax(tuple(reserved_bytes), seq)),
            ('host resident', argMax(tuple(host_resident_bytes), seq))
        ]) AS counter_value,
        max(peak_bytes) AS step_peak_bytes,
        max(retry_count) AS step_retry_count,
        max(oom_count) AS step_oom_count
    FROM tap.memories AS m
    WHERE run_id = xxh3(concat({run:String}, char(31))) AND op_id = 0
        AND step >= {first_step:Int64}
        AND ({last_step:Int64} = -1 OR step <= {last_step:Int64})
    GROUP BY
        rank,
        device,
        component,
        step
)
SELECT
    rank,
    device,
    component,
    step,
    tupleElement(counter_value, 1) AS counter,
    assumeNotNull(tupleElement(tupleElement(counter_value, 2), 1)) AS bytes,
    step_peak_bytes,
    step_retry_count,
    step_oom_count
FROM wanted
WHERE tupleElement(tupleElement(counter_value, 2), 1) IS NOT NULL
