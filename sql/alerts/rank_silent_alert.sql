-- Question: which ranks of live runs gave no sign of life for long, or died, also when that is over since the last look?
-- Grain: one row per run, rank
-- Reads: tap_store.heartbeat, tap_store.run
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
-- Parameter looked_ns = -1: time up to which they did at the last look: of what was over since then it is told, too; -1 for none.
-- Signs of a rank stand in the order of tap.heartbeats. What was over after the last look, and lasted for long then, was told by that one.
WITH
    if({now_ns:Int64} = -1, toUnixTimestamp64Nano(now64(9)), {now_ns:Int64}) AS now,
    if({looked_ns:Int64} = -1, now, {looked_ns:Int64}) AS looked,
    {silent_seconds:Int64} * 1000000000 AS longest,
    named AS (
        SELECT
            run_id,
            any(name) AS run_name
        FROM tap_store.run
        WHERE has({current:Array(String)}, name)
        GROUP BY run_id
    ),
    -- Of each rank the last sign before the last look, and all since then. A sign beyond the time up to which the tables know all may
    -- be stored already: it hides no silence before it, which the next look would take for told.
    signs AS (
        SELECT
            run_id,
            rank,
            arraySort(arrayPushBack(
                groupArrayIf((event_time_ns, epoch, state != 'running', batch, state, step), event_time_ns > looked),
                maxIf((event_time_ns, epoch, state != 'running', batch, state, step), event_time_ns <= looked))) AS ordered
        FROM tap_store.heartbeat
        WHERE run_id IN (
            SELECT run_id
            FROM named
        )
            AND event_time_ns <= now
        GROUP BY
            run_id,
            rank
    ),
    heard AS (
        SELECT
            run_id,
            rank,
            ordered[-1] AS latest,
            tupleElement(latest, 1) AS last_time_ns,
            tupleElement(latest, 5) AS last_state,
            arrayLast(
                pair -> looked - tupleElement(tupleElement(pair, 1), 1) <= longest
                    AND (tupleElement(tupleElement(pair, 1), 5) = 'died'
                        OR (tupleElement(tupleElement(pair, 1), 5) = 'running' AND tupleElement(tupleElement(pair, 2), 1) - tupleElement(tupleElement(pair, 1), 1) > longest)),
                arrayZip(arrayPopBack(ordered), arrayPopFront(ordered))) AS around,
            tupleElement(around, 1) AS missed,
            tupleElement(missed, 5) AS missed_state,
            tupleElement(tupleElement(around, 2), 1) AS over_time_ns,
            last_state = 'died' OR (last_state = 'running' AND now - last_time_ns > longest) AS lasts
        FROM signs
    )
SELECT
    named.run_name AS run,
    heard.rank AS rank,
    multiIf(
        lasts AND last_state = 'died', 'died',
        lasts, concat('gave no sign of life for ', toString(intDiv(now - last_time_ns, 1000000000)), ' s'),
        missed_state = 'died', 'died, and was started again',
        concat('gave no sign of life for ', toString(intDiv(over_time_ns - tupleElement(missed, 1), 1000000000)), ' s, until ',
            formatDateTime(fromUnixTimestamp64Nano(over_time_ns, 'UTC'), '%F %T'), ' UTC')) AS what,
    tupleElement(if(lasts, latest, missed), 6) AS step
FROM heard
INNER JOIN named ON named.run_id = heard.run_id
WHERE lasts OR missed_state != ''
ORDER BY
    run,
    rank
