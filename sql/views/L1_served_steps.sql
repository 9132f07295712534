-- Question: what did each step of an inference engine serve, whatever its number?
-- Grain: one row per run, rank, step whose requests' prompts and positions are all known
-- Reads: tap_store.request, tap.superseded_steps
-- Empty when: no inference engine was observed
-- The content is what the requests of the step have in common with those of another run: the prompts' hashes, first
-- positions and numbers of tokens, in the order of the batch. The occurrence tells apart steps of one rank that serve the same.
SELECT
    run_id,
    rank,
    step,
    cityHash64(groupArray((prompt_hash, first_position, token_count))) AS content,
    row_number() OVER (PARTITION BY run_id, rank, content ORDER BY step ASC) AS occurrence
FROM
(
    SELECT
        run_id,
        rank,
        step,
        prompt_hash,
        ifNull(q.first_position, 0) AS first_position,
        token_count,
        prompt_hash != 0 AND q.first_position IS NOT NULL AS known
    FROM tap_store.request AS q
    WHERE (run_id, rank, step, epoch) NOT IN (
        SELECT
            run_id,
            rank,
            step,
            epoch
        FROM tap.superseded_steps
    )
    ORDER BY
        run_id,
        rank,
        step,
        seq
)
GROUP BY
    run_id,
    rank,
    step
HAVING min(known)
