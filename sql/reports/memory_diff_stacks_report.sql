-- Question: which call stacks hold more memory in one run's snapshots than in another's?
-- Grain: one row per rank, device, call stack; the greatest difference comes first
-- Reads: tap.allocations, tap.stacks
-- Empty when: neither run has a snapshot of its allocator: `tensortap publish memory-snapshot` stores one
-- Shown: rank, device, problem_bytes, bench_bytes, difference_bytes, difference_blocks, component, user_frame, stack_id
-- Parameter problem: name of the run under suspicion.
-- Parameter bench: name of the run it is held against; it may be the same.
-- Parameter rank = -1: only this rank; -1 for all.
-- Parameter problem_step = -1: the problem's snapshot; -1 for its last.
-- Parameter bench_step = -1: the bench's snapshot; -1 for its last.
-- Parameter moment = end: end or peak.
-- Parameter limit = 100: greatest number of rows.
-- What counts is in use, also what waits for another stream. Two snapshots of one run: problem and bench are the same, and
-- bench_step is the earlier one.
WITH
    sides AS (
        SELECT
            run_id = xxh3(concat({problem:String}, char(31))) AS is_problem,
            run_id = xxh3(concat({bench:String}, char(31))) AS is_bench,
            rank,
            device,
            step,
            stack_id,
            component,
            toInt64(allocations.size_bytes) AS bytes,
            toInt64(allocations.allocation_count) AS blocks,
            max(step) OVER (PARTITION BY run_id, rank, device) AS newest
        FROM tap.allocations
        WHERE run_id IN (xxh3(concat({problem:String}, char(31))), xxh3(concat({bench:String}, char(31))))
            AND moment = {moment:String} AND state != 'inactive'
            AND ({rank:Int64} = -1 OR rank = {rank:Int64})
    ),
    held AS (
        SELECT
            rank,
            device,
            sides.stack_id AS stack_id,
            any(sides.component) AS component,
            sumIf(bytes, is_problem AND step = if({problem_step:Int64} = -1, newest, {problem_step:Int64})) AS problem_bytes,
            sumIf(bytes, is_bench AND step = if({bench_step:Int64} = -1, newest, {bench_step:Int64})) AS bench_bytes,
            sumIf(blocks, is_problem AND step = if({problem_step:Int64} = -1, newest, {problem_step:Int64})) AS problem_blocks,
            sumIf(blocks, is_bench AND step = if({bench_step:Int64} = -1, newest, {bench_step:Int64})) AS bench_blocks
        FROM sides
        GROUP BY
            rank,
            device,
            stack_id
    )
SELECT
    rank,
    device,
    problem_bytes,
    bench_bytes,
    problem_bytes - bench_bytes AS difference_bytes,
    problem_blocks - bench_blocks AS difference_blocks,
    component,
    stacks.user_frame AS user_frame,
    held.stack_id AS stack_id,
    stacks.frames AS frames
FROM held
LEFT ANY JOIN tap.stacks AS stacks ON stacks.stack_id = held.stack_id
WHERE problem_bytes != 0 OR bench_bytes != 0
ORDER BY
    difference_bytes DESC,
    rank,
    device,
    stack_id
LIMIT {limit:UInt64}
