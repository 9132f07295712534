-- Question: what is each rank of a run doing, or what was it doing when it was last heard of?
-- Grain: one row per rank that was published or is expected by the world size; what is wrong comes first
-- Reads: tap.ranks, tap.heartbeats, tap.steps, tap.failures, tap.ops, tap.runs
-- Empty when: the run is not known
-- Shown: rank, state, heard_seconds_ago, step, behind_step_count, op, module, op_seconds, failure_type, host, pid
-- Parameter run: name of the run.
-- Parameter silent_seconds = 10: a rank that gave no sign of life for so long is silent.
-- Parameter now_ns = -1: what to take for now, as UTC nanoseconds; -1 for the clock of the database.
-- A rank of which only files are known gives no signs of life; then its steps tell what there is to tell.
WITH
    if({now_ns:Int64} = -1, toUnixTimestamp64Nano(now64(9)), {now_ns:Int64}) AS now,
    everyone AS (
        SELECT rank
        FROM tap.ranks
        WHERE run_id = xxh3(concat({run:String}, char(31)))
        UNION DISTINCT
        SELECT rank
        FROM tap.heartbeats
        WHERE run_id = xxh3(concat({run:String}, char(31)))
        UNION DISTINCT
        SELECT toUInt32(arrayJoin(range(ifNull(world_size, 0)))) AS rank
        FROM tap.runs
        WHERE run_id = xxh3(concat({run:String}, char(31)))
    ),
    process AS (
        SELECT
            rank,
            host,
            pid,
            device,
            1 AS found
        FROM tap.ranks
        WHERE run_id = xxh3(concat({run:String}, char(31)))
    ),
    heard AS (
        SELECT
            rank,
            epoch,
            event_time_ns,
            state,
            step,
            op_id,
            since_time_ns,
            1 AS found
        FROM tap.heartbeats
        WHERE run_id = xxh3(concat({run:String}, char(31)))
    ),
    ended_steps AS (
        SELECT
            rank,
            max(step) AS last_step,
            max(event_time_ns) AS last_time_ns,
            min(complete) AS all_complete,
            1 AS found
        FROM tap.steps
        WHERE run_id = xxh3(concat({run:String}, char(31)))
        GROUP BY rank
    ),
    failed AS (
        SELECT
            rank,
            epoch,
            argMax(type, (event_time_ns, seq)) AS last_type,
            argMax(message, (event_time_ns, seq)) AS last_message
        FROM tap.failures
        WHERE run_id = xxh3(concat({run:String}, char(31)))
        GROUP BY
            rank,
            epoch
    )
SELECT
    everyone.rank AS rank,
    multiIf(
        heard.found = 1 AND heard.state = 'running' AND now - heard.event_time_ns > {silent_seconds:Int64} * 1000000000, 'silent',
        heard.found = 1, heard.state,
        ended_steps.found = 1, if(ended_steps.all_complete = 1, 'ended', 'cut short'),
        process.found = 1, 'no step yet',
        'never heard of') AS state,
    multiIf(heard.found = 1, toNullable(heard.event_time_ns), ended_steps.found = 1, toNullable(ended_steps.last_time_ns), NULL) AS heard_time_ns,
    (now - heard_time_ns) / 1000000000 AS heard_seconds_ago,
    multiIf(heard.found = 1, toNullable(heard.step), ended_steps.found = 1, toNullable(ended_steps.last_step), NULL) AS step,
    max(step) OVER () - step AS behind_step_count,
    if(op.name = '' AND heard.op_id != 0, leftPad(lower(hex(heard.op_id)), 16, '0'), op.name) AS op,
    op.module_path AS module,
    op.phase AS phase,
    if(isNull(heard.since_time_ns), NULL, greatest(heard.event_time_ns - heard.since_time_ns, 0)) / 1000000000 AS op_seconds,
    failed.last_type AS failure_type,
    failed.last_message AS failure_message,
    process.host AS host,
    process.pid AS pid,
    process.device AS device
FROM everyone
LEFT ANY JOIN process ON process.rank = everyone.rank
LEFT ANY JOIN heard ON heard.rank = everyone.rank
LEFT ANY JOIN ended_steps ON ended_steps.rank = everyone.rank
LEFT ANY JOIN failed ON failed.rank = everyone.rank AND failed.epoch = heard.epoch
LEFT ANY JOIN tap.ops AS op ON op.op_id = heard.op_id
ORDER BY
    indexOf(['died', 'silent', 'cut short', 'never heard of', 'no step yet', 'running', 'ended'], state),
    step,
    rank
