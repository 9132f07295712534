-- Question: which tokens did a program sample or score, with which log-probability?
-- Grain: one row per run, rank, epoch, seq: a token of a sequence; replaced observations are hidden
-- Reads: tap_store.token, tap.superseded_steps, tap_store.run
-- Empty when: no program told the collector of tokens
SELECT
    t.run_id AS run_id,
    if(r.name = '', leftPad(lower(hex(t.run_id)), 16, '0'), r.name) AS run,
    t.rank AS rank,
    t.step AS step,
    t.seq AS seq,
    t.global_step AS global_step,
    t.prompt_hash AS prompt_hash,
    t.sample AS sample,
    t.position AS position,
    t.token_id AS token_id,
    t.log_probability AS log_probability,
    t.entropy AS entropy,
    t.phase AS phase,
    t.weights_version AS weights_version,
    t.temperature AS temperature,
    t.cached_token_count AS cached_token_count,
    t.epoch AS epoch,
    t.event_time_ns AS event_time_ns
FROM tap_store.token AS t
LEFT ANY JOIN tap_store.run AS r ON r.run_id = t.run_id
WHERE (t.run_id, t.rank, t.step, t.epoch) NOT IN (
    SELECT
        run_id,
        rank,
        step,
        epoch
    FROM tap.superseded_steps
)
