-- Question: which ranks have not ended, and when was each last heard of?
-- Grain: one row per run, rank whose last sign of life says that it runs
-- Reads: tap.heartbeats, tap_store.run
-- Empty when: no live rank was observed, or all have ended
SELECT
    h.run_id AS run_id,
    if(r.name = '', leftPad(lower(hex(h.run_id)), 16, '0'), r.name) AS run,
    h.rank AS rank,
    h.step AS step,
    h.event_time_ns AS event_time_ns,
    isNotNull(h.debugged_since_time_ns) AS debugged
FROM tap.heartbeats AS h
LEFT ANY JOIN tap_store.run AS r ON r.run_id = h.run_id
WHERE h.state = 'running'
