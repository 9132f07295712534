-- Question: which step of the bench is a trainer's same step as one of the problem, where numbers pair other steps?
-- Grain: one row per rank, step of the problem that has such a step of the bench
-- Reads: tap_store.step, tap.rank_pairs
-- Empty when: the same steps of trainers have the same numbers, or no trainer says which they are
-- Parameter problem: name of the run under suspicion.
-- Parameter bench: name of the run it is held against.
-- Steps are the same by their phase and the number of the trainer's own steps before them. The occurrence tells apart those of one
-- rank that are, as batches of one evaluation. Of several rows of a step the latest counts, as in tap.steps.
WITH
    said AS (
        SELECT
            run_id,
            rank,
            step,
            phase,
            global_step,
            row_number() OVER (PARTITION BY run_id, rank, phase, global_step ORDER BY step ASC) AS occurrence
        FROM
        (
            SELECT
                run_id,
                rank,
                step,
                phase,
                global_step
            FROM tap_store.step
            WHERE run_id IN (xxh3(concat({problem:String}, char(31))), xxh3(concat({bench:String}, char(31))))
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
        )
        WHERE global_step IS NOT NULL
    ),
    of_bench AS (
        SELECT
            rank AS bench_rank,
            toNullable(step) AS bench_step,
            phase,
            global_step,
            occurrence
        FROM said
        WHERE run_id = xxh3(concat({bench:String}, char(31)))
    )
SELECT
    rank,
    step,
    assumeNotNull(partner) AS bench_step
FROM
(
    SELECT
        p.rank AS rank,
        p.step AS step,
        b.bench_step AS partner,
        max(ifNull(b.bench_step != p.step, (p.bench_rank, toNullable(p.step)) IN (SELECT bench_rank, bench_step FROM of_bench))) OVER () AS moved
    FROM
    (
        SELECT
            rank_pair.problem_rank AS rank,
            rank_pair.bench_rank AS bench_rank,
            s.step AS step,
            s.phase AS phase,
            s.global_step AS global_step,
            s.occurrence AS occurrence
        FROM tap.rank_pairs(problem = {problem:String}, bench = {bench:String}) AS rank_pair
        INNER JOIN said AS s ON s.rank = rank_pair.problem_rank
        WHERE s.run_id = xxh3(concat({problem:String}, char(31)))
    ) AS p
    LEFT JOIN of_bench AS b USING (bench_rank, phase, global_step, occurrence)
)
WHERE moved AND partner IS NOT NULL
