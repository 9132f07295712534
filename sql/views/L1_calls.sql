-- Question: how many ATen ops did each step call, and which?
-- Grain: one row per run, rank, step, epoch, tally; replaced observations are hidden
-- Reads: tap_store.call, tap.superseded_steps
-- Empty when: no rank was recorded at level aten
SELECT
    run_id,
    rank,
    step,
    tally_id,
    call_count,
    epoch,
    event_time_ns
FROM tap_store.call
WHERE (run_id, rank, step, epoch) NOT IN (
    SELECT
        run_id,
        rank,
        step,
        epoch
    FROM tap.superseded_steps
)
