-- Question: what is the memory of a device for: weights, activations, KV cache, graphs, communication?
-- Grain: one row per rank, step, device, moment, component; the greatest of each moment comes first
-- Reads: tap.allocations
-- Empty when: the run has no snapshot of its allocator: `tensortap publish memory-snapshot` stores one
-- Parameter run: name of the run.
-- Parameter rank = -1: only this rank; -1 for all.
-- Parameter first_step = 0: first step.
-- Parameter last_step = -1: last step; -1 for all.
-- Parameter limit = 1000: greatest number of rows.
-- The component is by the frames of the stack that allocated; unknown where there is no stack, other where its frames say
-- nothing; free is what the allocator holds for later.
SELECT
    rank,
    step,
    device,
    moment,
    multiIf(state = 'inactive', 'free', a.component = '', 'unknown', a.component) AS component,
    sum(allocation_count) AS block_count,
    sum(size_bytes) AS bytes,
    bytes / sum(bytes) OVER (PARTITION BY rank, step, device, moment) AS share,
    uniqExact(stack_id) AS stack_count
FROM tap.allocations AS a
WHERE run_id = xxh3(concat({run:String}, char(31)))
    AND ({rank:Int64} = -1 OR rank = {rank:Int64})
    AND step >= {first_step:Int64}
    AND ({last_step:Int64} = -1 OR step <= {last_step:Int64})
GROUP BY
    rank,
    step,
    device,
    moment,
    component
ORDER BY
    rank,
    step,
    device,
    moment,
    bytes DESC,
    component
LIMIT {limit:UInt64}
