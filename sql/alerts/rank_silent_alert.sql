-- Question: which ranks of live runs gave no sign of life for long, or died?
-- Grain: one row per run, rank
-- Reads: tap.heartbeats, tap_store.run
-- Empty when: every rank is heard of or has ended, or only files were published
-- Severity: critical
-- For: 0s
-- Labels: run, rank
-- Group by: run
-- Says: rank {rank} of run {run} {what}, in step {step}
-- Look: tensortap report ranks --run {run}
-- Example: run=nightly, rank=3, what=gave no sign of life for 41 s, step=120
-- Parameter current = []: names of the runs that go on or ended a short time ago.
-- Parameter silent_seconds = 30: a rank that gave no sign of life for so long is silent.
-- Parameter now_ns = -1: time up to which the tables know all, as UTC nanoseconds; -1 for the clock of the database.
WITH
    if({now_ns:Int64} = -1, toUnixTimestamp64Nano(now64(9)), {now_ns:Int64}) AS now,
    named AS (
        SELECT
            run_id,
            any(name) AS run_name
        FROM tap_store.run
        WHERE has({current:Array(String)}, name)
        GROUP BY run_id
    )
SELECT
    named.run_name AS run,
    heard.rank AS rank,
    if(heard.state = 'died', 'died', concat('gave no sign of life for ', toString(intDiv(now - heard.event_time_ns, 1000000000)), ' s')) AS what,
    heard.step AS step
FROM tap.heartbeats AS heard
INNER JOIN named ON named.run_id = heard.run_id
WHERE heard.state = 'died' OR (heard.state = 'running' AND now - heard.event_time_ns > {silent_seconds:Int64} * 1000000000)
ORDER BY
    run,
    rank
