-- Question: what did the processes of a run write, in which step?
-- Grain: one row per run, rank or process without one, stream, line or record
-- Reads: tap_store.log, tap_store.rank, tap_store.run, tap.steps
-- Empty when: no log was published, and nothing ran under `tensortap run`
-- A file that grew is published again: its lines are known by their place in it, seq. A line without a rank is of that whose
-- process wrote it, or that it names; 4294967295 is none. A step is the one that was under way at the rank.
WITH
    processes AS (
        SELECT
            run_id,
            host,
            assumeNotNull(pid) AS known_pid,
            argMax(rank, started_time_ns) AS known_rank
        FROM tap_store.rank
        WHERE pid IS NOT NULL
        GROUP BY
            run_id,
            host,
            pid
    ),
    lines AS (
        SELECT
            written.run_id AS run_id,
            multiIf(written.rank != 4294967295, written.rank, p.known_pid != 0, p.known_rank, toUInt32OrDefault(written.fields['rank'], toUInt32(4294967295))) AS rank,
            written.epoch AS epoch,
            written.event_time_ns AS event_time_ns,
            written.step AS step,
            written.seq AS seq,
            written.time_basis AS time_basis,
            written.host AS host,
            written.pid AS pid,
            written.role AS role,
            written.stream AS stream,
            written.level AS level,
            written.logger AS logger,
            written.kind AS kind,
            written.op_id AS op_id,
            written.request AS request,
            written.text AS text,
            written.exception AS exception,
            written.fields AS fields
        FROM tap_store.log AS written
        LEFT ANY JOIN processes AS p ON p.run_id = written.run_id AND p.host = written.host AND p.known_pid = ifNull(written.pid, 0)
        ORDER BY
            length(text) DESC,
            epoch
        LIMIT 1 BY
            run_id,
            rank,
            host,
            pid,
            stream,
            seq,
            if(time_basis IN ('file', 'line before'), 0, event_time_ns)
    ),
    timed AS (
        SELECT
            run_id,
            rank,
            step,
            assumeNotNull(begin_time_ns) AS begin_time_ns,
            ifNull(end_time_ns, 9223372036854775807) AS end_time_ns
        FROM tap.steps
        WHERE begin_time_ns IS NOT NULL
    )
SELECT
    l.run_id AS run_id,
    if(r.name = '', leftPad(lower(hex(l.run_id)), 16, '0'), r.name) AS run,
    l.rank AS rank,
    coalesce(l.step, if(s.begin_time_ns > 0 AND s.end_time_ns >= l.event_time_ns, toNullable(s.step), NULL)) AS step,
    l.event_time_ns AS event_time_ns,
    l.time_basis AS time_basis,
    l.seq AS seq,
    l.host AS host,
    l.pid AS pid,
    l.role AS role,
    l.stream AS stream,
    l.level AS level,
    l.logger AS logger,
    l.kind AS kind,
    l.op_id AS op_id,
    l.request AS request,
    l.text AS text,
    l.exception AS exception,
    l.fields AS fields,
    l.epoch AS epoch
FROM lines AS l
LEFT ASOF JOIN timed AS s ON s.run_id = l.run_id AND s.rank = l.rank AND l.event_time_ns >= s.begin_time_ns
LEFT ANY JOIN tap_store.run AS r ON r.run_id = l.run_id
