-- Question: how much memory did each rank use at the end of each step, or one component of it?
-- Grain: one row per rank, device, step
-- Reads: tap.memories
-- Empty when: no live rank of the run measured its memory at the end of a step: dumps hold none, `tensortap run` records it
-- Parameter run: name of the run.
-- Parameter rank = -1: only this rank; -1 for all.
-- Parameter first_step = 0: first step.
-- Parameter last_step = -1: last step; -1 for all.
-- Parameter component = all: weights, gradients, optimizer, activations, kv or other; all for the whole device or host.
-- Parameter limit = 10000: greatest number of rows.
-- Of kv, allocated is in use and reserved the capacity; of activations the peak alone is known.
SELECT
    rank,
    device,
    step,
    argMax(tuple(m.allocated_bytes), seq).1 AS allocated_bytes,
    argMax(tuple(m.reserved_bytes), seq).1 AS reserved_bytes,
    max(m.peak_bytes) AS peak_bytes,
    argMax(tuple(m.device_free_bytes), seq).1 AS device_free_bytes,
    argMax(tuple(m.host_resident_bytes), seq).1 AS host_resident_bytes,
    max(m.retry_count) AS retry_count,
    max(m.oom_count) AS oom_count
FROM tap.memories AS m
WHERE run_id = xxh3(concat({run:String}, char(31))) AND op_id = 0 AND component = {component:String}
    AND ({rank:Int64} = -1 OR rank = {rank:Int64})
    AND step >= {first_step:Int64}
    AND ({last_step:Int64} = -1 OR step <= {last_step:Int64})
GROUP BY
    rank,
    device,
    step
ORDER BY
    rank,
    device,
    step
LIMIT {limit:UInt64}
