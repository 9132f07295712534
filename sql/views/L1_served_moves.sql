-- Question: which step of the bench serves what a step of the problem serves, where numbers pair other steps?
-- Grain: one row per rank, step of the problem that has such a step of the bench
-- Reads: tap_store.request, tap.superseded_steps, tap.rank_pairs
-- Empty when: the steps that serve the same have the same numbers, or no inference engine was observed
-- Parameter problem: name of the run under suspicion.
-- Parameter bench: name of the run it is held against.
-- The content of a step is what its requests have in common with those of another run: the prompts' hashes, first
-- positions and numbers of tokens, in the order of the batch. The occurrence tells apart steps of one rank that serve the same.
WITH
    requests AS (
        SELECT
            run_id,
            rank,
            step,
            prompt_hash,
            ifNull(q.first_position, 0) AS first_position,
            token_count,
            prompt_hash != 0 AND q.first_position IS NOT NULL AS known
        FROM tap_store.request AS q
        WHERE run_id IN (xxh3(concat({problem:String}, char(31))), xxh3(concat({bench:String}, char(31))))
            AND (run_id, rank, step, epoch) NOT IN (
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
    ),
    served AS (
        SELECT
            run_id,
            rank,
            step,
            cityHash64(groupArray((prompt_hash, first_position, token_count))) AS content,
            row_number() OVER (PARTITION BY run_id, rank, content ORDER BY step ASC) AS occurrence
        FROM requests
        GROUP BY
            run_id,
            rank,
            step
        HAVING min(known)
    )
SELECT
    rank,
    step,
    bench_step
FROM
(
    SELECT
        rank_pair.problem_rank AS rank,
        p.step AS step,
        b.step AS bench_step,
        max(p.step != b.step) OVER () AS moved
    FROM tap.rank_pairs(problem = {problem:String}, bench = {bench:String}) AS rank_pair
    INNER JOIN served AS p ON p.rank = rank_pair.problem_rank
    INNER JOIN served AS b ON b.rank = rank_pair.bench_rank AND b.content = p.content AND b.occurrence = p.occurrence
    WHERE p.run_id = xxh3(concat({problem:String}, char(31)))
        AND b.run_id = xxh3(concat({bench:String}, char(31)))
)
WHERE moved
