-- Question: how often was each rank of a run started, and which steps are of which start?
-- Grain: one row per rank, start of its process
-- Reads: tap_store.rank, tap_store.heartbeat, tap.steps
-- Empty when: the run is not known
-- Shown: rank, start, started_time_ns, state, first_step, last_step, step_count, host, pid
-- Parameter run: name of the run.
-- Steps that a later start replaced count for that one alone. A server that is started again goes on behind the steps of the
-- start before; other reports can be asked for the steps of one start.
WITH
    started AS (
        SELECT
            rank,
            epoch,
            started_time_ns,
            host,
            pid
        FROM tap_store.rank
        WHERE run_id = xxh3(concat({run:String}, char(31)))
        LIMIT 1 BY
            rank,
            epoch
    ),
    stepped AS (
        SELECT
            rank,
            epoch,
            min(step) AS first_step,
            max(step) AS last_step,
            count() AS step_count
        FROM tap.steps
        WHERE run_id = xxh3(concat({run:String}, char(31)))
        GROUP BY
            rank,
            epoch
    ),
    heard AS (
        SELECT
            rank,
            epoch,
            argMax(tap_store.heartbeat.state, (event_time_ns, batch)) AS last_state
        FROM tap_store.heartbeat
        WHERE run_id = xxh3(concat({run:String}, char(31)))
        GROUP BY
            rank,
            epoch
    )
SELECT
    started.rank AS rank,
    row_number() OVER (PARTITION BY started.rank ORDER BY started.started_time_ns, started.epoch) AS start,
    started.started_time_ns AS started_time_ns,
    if(heard.last_state = '', 'not known', heard.last_state) AS state,
    if(stepped.step_count = 0, NULL, toNullable(stepped.first_step)) AS first_step,
    if(stepped.step_count = 0, NULL, toNullable(stepped.last_step)) AS last_step,
    stepped.step_count AS step_count,
    started.host AS host,
    started.pid AS pid,
    leftPad(lower(hex(started.epoch)), 16, '0') AS epoch
FROM started
LEFT ANY JOIN stepped ON stepped.rank = started.rank AND stepped.epoch = started.epoch
LEFT ANY JOIN heard ON heard.rank = started.rank AND heard.epoch = started.epoch
ORDER BY
    rank,
    start
