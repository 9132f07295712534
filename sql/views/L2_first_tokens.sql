-- Question: how was each token of a run at each place of the model, the first time that it was there?
-- Grain: one row per layer, place, prompt, sample and position
-- Reads: tap_store.token_site, tap.superseded_steps
-- Empty when: the run was not recorded at level tokens
-- Parameter run: name of the run.
-- Of several that a run has there, the first of its lowest rank counts. Components are the sums from which the distance of two tokens is estimated.
-- Rows come in the order in which they are stored, so that two runs can be merged.
SELECT
    layer,
    place,
    prompt_hash,
    sample,
    position,
    reinterpretAsFloat32(norm_bits) AS norm,
    sum_0 / 4096 * norm AS component_0,
    sum_1 / 4096 * norm AS component_1,
    sum_2 / 4096 * norm AS component_2,
    sum_3 / 4096 * norm AS component_3,
    nan_count,
    row_count,
    rank
FROM tap_store.token_site
WHERE run_id = xxh3(concat({run:String}, char(31)))
    AND (run_id, rank, step, epoch) NOT IN (
        SELECT
            run_id,
            rank,
            step,
            epoch
        FROM tap.superseded_steps
    )
ORDER BY
    layer,
    place,
    prompt_hash,
    sample,
    position,
    rank,
    epoch,
    step
LIMIT 1 BY
    layer,
    place,
    prompt_hash,
    sample,
    position
