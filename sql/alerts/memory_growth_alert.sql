-- Question: whose memory grows from step to step without end?
-- Grain: one row per rank, device of the run, by the counter that grows most
-- Reads: tap.memory_growth_report
-- Empty when: nothing grows, or no rank of the run measured its memory
-- Severity: warning
-- For: 0s
-- Labels: run, rank, device
-- Group by: run
-- Says: memory ({counter}) of rank {rank} on {device} of run {run} grows by {growth} a step over {step_count} steps{op_words}
-- Look: tensortap report memory-growth --run {run}
-- Example: run=nightly, rank=3, device=cuda:3, counter=allocated, growth=1.00 MiB, step_count=60, op_words=, in Module.layers.1.Block.forward.0
-- Parameter run: name of the run.
-- Parameter least_bytes_per_step = 65536: less growth is none.
-- Parameter least_steps = 20: of fewer steps nothing is said.
SELECT
    {run:String} AS run,
    rank,
    device,
    counter,
    formatReadableSize(growth_bytes_per_step) AS growth,
    step_count,
    if(op = '', '', concat(', in ', op)) AS op_words
FROM tap.memory_growth_report(run = {run:String}, rank = -1, first_step = 0, last_step = -1, least_bytes_per_step = {least_bytes_per_step:Float64})
WHERE component = 'all' AND step_count >= {least_steps:Int64}
ORDER BY
    rank,
    device,
    growth_bytes_per_step DESC,
    counter
LIMIT 1 BY
    rank,
    device
