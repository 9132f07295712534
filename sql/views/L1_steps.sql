-- Question: which steps did each rank run, and was each seen whole?
-- Grain: one row per run, rank, step; of several generations the greatest
-- Reads: tap_store.step, tap.superseded_steps
-- Empty when: no step has ended
SELECT
    run_id,
    rank,
    step,
    epoch,
    batch,
    generation,
    event_time_ns,
    begin_time_ns,
    end_time_ns,
    program_id,
    phase,
    op_count,
    tensor_count,
    dropped_count,
    drop_reason,
    request_count,
    token_count,
    complete
FROM tap_store.step
WHERE (run_id, rank, step, epoch) NOT IN (
    SELECT
        run_id,
        rank,
        step,
        epoch
    FROM tap.superseded_steps
)
