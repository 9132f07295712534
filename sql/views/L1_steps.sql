-- Question: which steps did each rank run, and was each seen whole?
-- Grain: one row per run, rank, step; of several generations the greatest
-- Reads: tap_store.step, tap_store.run
-- Empty when: no step has ended
-- The order is that of tap.superseded_steps. This view does not read it, as most questions ask here several times.
SELECT
    s.run_id AS run_id,
    if(r.name = '', leftPad(lower(hex(s.run_id)), 16, '0'), r.name) AS run,
    s.rank AS rank,
    s.step AS step,
    s.epoch AS epoch,
    s.batch AS batch,
    s.generation AS generation,
    s.event_time_ns AS event_time_ns,
    s.begin_time_ns AS begin_time_ns,
    s.end_time_ns AS end_time_ns,
    s.program_id AS program_id,
    s.phase AS phase,
    s.op_count AS op_count,
    s.tensor_count AS tensor_count,
    s.dropped_count AS dropped_count,
    s.drop_reason AS drop_reason,
    s.request_count AS request_count,
    s.token_count AS token_count,
    s.complete AS complete,
    s.global_step AS global_step
FROM (
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
        complete,
        global_step
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
) AS s
LEFT ANY JOIN tap_store.run AS r ON r.run_id = s.run_id
