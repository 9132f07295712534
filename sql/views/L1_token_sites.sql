-- Question: what was each token at each place of the model?
-- Grain: one row per run, rank, epoch, step, layer, place, prompt, sample, position; replaced observations are hidden
-- Reads: tap_store.token_site, tap.superseded_steps, tap_store.run
-- Empty when: no run was recorded at level tokens
-- The sums are in units of the norm: that times the norm is the sum of elements, each with a sign of its own.
SELECT
    t.run_id AS run_id,
    if(r.name = '', leftPad(lower(hex(t.run_id)), 16, '0'), r.name) AS run,
    t.rank AS rank,
    t.step AS step,
    t.layer AS layer,
    t.place AS place,
    ['embedding', 'attention', 'router', 'residual stream', 'logits'][t.place] AS site,
    t.prompt_hash AS prompt_hash,
    t.sample AS sample,
    t.position AS position,
    t.row_count AS row_count,
    reinterpretAsFloat32(t.norm_bits) AS norm,
    reinterpretAsFloat32(t.mean_bits) AS mean,
    t.nan_count AS nan_count,
    t.sum_0 / 4096 AS sum_0,
    t.sum_1 / 4096 AS sum_1,
    t.sum_2 / 4096 AS sum_2,
    t.sum_3 / 4096 AS sum_3,
    t.epoch AS epoch,
    t.event_time_ns AS event_time_ns
FROM tap_store.token_site AS t
LEFT ANY JOIN tap_store.run AS r ON r.run_id = t.run_id
WHERE (t.run_id, t.rank, t.step, t.epoch) NOT IN (
    SELECT
        run_id,
        rank,
        step,
        epoch
    FROM tap.superseded_steps
)
