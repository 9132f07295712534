-- Question: which checksum did each parameter have after each update?
-- Grain: one row per run, rank, epoch, seq: a parameter after an update; replaced observations are hidden
-- Reads: tap_store.weight, tap.superseded_steps, tap_store.run
-- Empty when: no program told the collector of updates of its weights
SELECT
    t.run_id AS run_id,
    if(r.name = '', leftPad(lower(hex(t.run_id)), 16, '0'), r.name) AS run,
    t.rank AS rank,
    t.step AS step,
    t.seq AS seq,
    t.version AS version,
    t.name AS name,
    t.checksum AS checksum,
    t.description AS description,
    t.epoch AS epoch,
    t.event_time_ns AS event_time_ns
FROM tap_store.weight AS t
LEFT ANY JOIN tap_store.run AS r ON r.run_id = t.run_id
WHERE (t.run_id, t.rank, t.step, t.epoch) NOT IN (
    SELECT
        run_id,
        rank,
        step,
        epoch
    FROM tap.superseded_steps
)
