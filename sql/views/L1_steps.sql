-- Question: which steps did each rank run, and was each seen whole?
-- Grain: one row per run, rank, step; of several generations the greatest
-- Reads: tap_store.step
-- Empty when: no step has ended
-- The order is that of tap.superseded_steps. This view does not read it, as most questions ask here several times.
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
ORDER BY
    run_id,
    rank,
    step,
    generation DESC,
    event_time_ns DESC,
    epoch DESC
LIMIT 1 BY
    run_id,
    rank,
    step
