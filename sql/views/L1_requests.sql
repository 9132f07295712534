-- Question: which tokens of which requests did each step serve?
-- Grain: one row per run, rank, step, seq: a request's part of a step; replaced observations are hidden
-- Reads: tap_store.request, tap.superseded_steps, tap_store.run
-- Empty when: no inference engine was observed
SELECT
    q.run_id AS run_id,
    if(r.name = '', leftPad(lower(hex(q.run_id)), 16, '0'), r.name) AS run,
    q.rank AS rank,
    q.step AS step,
    q.seq AS seq,
    q.request AS request,
    q.phase AS phase,
    q.prompt_hash AS prompt_hash,
    q.prompt_token_count AS prompt_token_count,
    q.first_position AS first_position,
    q.token_count AS token_count,
    q.row_offset AS row_offset,
    q.epoch AS epoch,
    q.event_time_ns AS event_time_ns
FROM tap_store.request AS q
LEFT ANY JOIN tap_store.run AS r ON r.run_id = q.run_id
WHERE (q.run_id, q.rank, q.step, q.epoch) NOT IN (
    SELECT
        run_id,
        rank,
        step,
        epoch
    FROM tap.superseded_steps
)
