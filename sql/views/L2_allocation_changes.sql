-- Question: how much more does each call stack of a run hold in its last snapshot than in its first?
-- Grain: one row per rank, device, stack
-- Reads: tap.allocations, tap.stacks
-- Empty when: no rank of the run has two snapshots of its allocator
-- Parameter run: name of the run.
-- Parameter first_step = 0: first step.
-- Parameter last_step = -1: last step; -1 for all.
-- What counts is in use at the end of a snapshot, also what waits for another stream. A stack that a snapshot lacks holds
-- nothing. Peers are the other ranks, by their median.
WITH
    held AS (
        SELECT
            rank,
            device,
            step,
            stack_id,
            component,
            allocations.size_bytes AS bytes,
            min(step) OVER (PARTITION BY rank, device) AS from_step,
            max(step) OVER (PARTITION BY rank, device) AS to_step
        FROM tap.allocations
        WHERE run_id = xxh3(concat({run:String}, char(31))) AND moment = 'end' AND state != 'inactive'
            AND step >= {first_step:Int64}
            AND ({last_step:Int64} = -1 OR step <= {last_step:Int64})
    ),
    ends AS (
        SELECT
            rank,
            device,
            splitByChar(':', device)[1] AS device_kind,
            stack_id,
            any(held.component) AS component,
            toInt64(sumIf(bytes, step = from_step)) AS first_bytes,
            toInt64(sumIf(bytes, step = to_step)) AS last_bytes,
            any(held.from_step) AS first_step,
            any(held.to_step) AS last_step,
            (last_bytes - first_bytes) / (last_step - first_step) AS change_bytes_per_step
        FROM held
        WHERE from_step != to_step
        GROUP BY
            rank,
            device,
            stack_id
    )
SELECT
    rank,
    device,
    ends.stack_id AS stack_id,
    component,
    stacks.user_frame AS user_frame,
    first_step,
    last_step,
    first_bytes,
    last_bytes,
    change_bytes_per_step,
    arrayMap(
        p -> tupleElement(p, 2),
        arrayFilter(p -> tupleElement(p, 1) != rank, groupArray((rank, change_bytes_per_step)) OVER (PARTITION BY device_kind, ends.stack_id))) AS others,
    if(empty(others), NULL, arrayReduce('quantileExact(0.5)', others)) AS peers_bytes_per_step
FROM ends
LEFT ANY JOIN tap.stacks AS stacks ON stacks.stack_id = ends.stack_id
