-- Question: which numbers did programs report of themselves?
-- Grain: one row per run, rank or process without one, source, name, line or record
-- Reads: tap_store.metric, tap_store.run, tap.logs
-- Empty when: no log and no file of scalars was published
-- A file that grew is published again: its numbers are known by their place in it, seq. Rank and step are those of the line,
-- where the number itself has none; 4294967295 is no rank. The op is the one that a note was made in; 0 for none.
SELECT
    m.run_id AS run_id,
    if(r.name = '', leftPad(lower(hex(m.run_id)), 16, '0'), r.name) AS run,
    if(m.rank = 4294967295 AND l.epoch != 0, l.rank, m.rank) AS rank,
    coalesce(m.step, l.step) AS step,
    m.event_time_ns AS event_time_ns,
    m.seq AS seq,
    m.name AS name,
    m.value AS value,
    m.digits AS digits,
    m.source AS source,
    m.request AS request,
    m.epoch AS epoch,
    l.op_id AS op_id
FROM (
    SELECT
        run_id,
        rank,
        step,
        event_time_ns,
        seq,
        name,
        value,
        digits,
        source,
        request,
        epoch
    FROM tap_store.metric
    ORDER BY epoch
    LIMIT 1 BY
        run_id,
        rank,
        source,
        name,
        seq,
        event_time_ns,
        toString(value)
) AS m
LEFT ANY JOIN (
    SELECT
        run_id,
        epoch,
        event_time_ns,
        seq,
        rank,
        step,
        op_id
    FROM tap.logs
    WHERE kind != ''
) AS l ON l.run_id = m.run_id AND l.epoch = m.epoch AND l.event_time_ns = m.event_time_ns AND l.seq = m.seq
LEFT ANY JOIN tap_store.run AS r ON r.run_id = m.run_id
