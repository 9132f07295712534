-- Question: in which group of ranks does a collective of a live run wait for a rank, or was it called in another way?
-- Grain: one row per process group of the run, by the call that began first
-- Reads: tap.hang_report, tap.heartbeats
-- Empty when: no call waits for so long and all ranks called the same, or no rank of the run lives
-- Severity: critical
-- For: 0s
-- Labels: run, process_group
-- Group by: run
-- Says: run {run} hangs in {name}, call {group_seq} of group {process_group}: {what}
-- Look: tensortap report hang --run {run}
-- Example: run=nightly, name=all_reduce, group_seq=482, process_group=world [0-7], what=rank 3 has not arrived; 7 ranks wait
-- Parameter run: name of the run.
-- Parameter waiting_seconds = 30: calls that wait for so long.
-- Parameter silent_seconds = 30: a rank that gave no sign of life for so long is silent.
-- Parameter now_ns = -1: time up to which the tables know all, as UTC nanoseconds; -1 for the clock of the database.
SELECT
    {run:String} AS run,
    process_group,
    group_seq,
    name,
    multiIf(
        problem = 'other call', concat('ranks called with different things: ', different),
        problem = 'not complete', concat('all arrived, and ranks ', waiting_ranks, ' wait'),
        concat(if(missing_count = 1, 'rank ', 'ranks '), missing_ranks, if(missing_count = 1, ' has', ' have'), ' not arrived; ',
            toString(arrived_count), if(arrived_count = 1, ' rank waits', ' ranks wait'))) AS what
FROM tap.hang_report(
    run = {run:String}, waiting_seconds = {waiting_seconds:Int64}, now_ns = {now_ns:Int64}, silent_seconds = {silent_seconds:Int64}, limit = 1000)
WHERE (
    SELECT countIf(state = 'running')
    FROM tap.heartbeats
    WHERE run_id = xxh3(concat({run:String}, char(31)))
) > 0
ORDER BY
    process_group,
    since_time_ns,
    group_seq
LIMIT 1 BY process_group
