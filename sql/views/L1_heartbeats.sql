-- Question: what was each rank last heard of, and what was it doing then?
-- Grain: one row per run, rank that gave a sign of life: its last
-- Reads: tap_store.heartbeat
-- Empty when: only files were published
-- News of a death carries the time of the last sign of life, so of equal times the end counts.
SELECT
    run_id,
    rank,
    epoch,
    event_time_ns,
    state,
    step,
    seq,
    op_id,
    since_time_ns,
    debugged_since_time_ns
FROM tap_store.heartbeat
ORDER BY
    run_id,
    rank,
    event_time_ns DESC,
    epoch DESC,
    state != 'running' DESC,
    batch DESC
LIMIT 1 BY
    run_id,
    rank
