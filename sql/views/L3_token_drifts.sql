-- Question: in which steps do the log-probabilities of runs differ from those of the run that they are held against as they land?
-- Grain: one row per problem, bench of a standing comparison and global_step, of the latest 100 steps, in which tokens of both pair
-- Reads: tap.declared_comparisons, tap.tokens, tap.token_tolerances
-- Empty when: no run that is held against another told of tokens that the other has, too
-- Tokens pair and differ as in tap.logprobs_report, which says why.
WITH
    asked AS (
        SELECT DISTINCT
            problem,
            benches[1] AS bench,
            xxh3(concat(problem, char(31))) AS problem_id,
            xxh3(concat(bench, char(31))) AS bench_id,
            arrayJoin([problem_id, bench_id]) AS side_id
        FROM tap.declared_comparisons
        WHERE standing = 1
    ),
    latest AS (
        SELECT
            run_id AS latest_id,
            max(global_step) AS last_step
        FROM tap.tokens
        WHERE run_id IN (
            SELECT problem_id
            FROM asked
        )
        GROUP BY run_id
    ),
    told AS (
        SELECT
            asked.problem AS problem,
            asked.bench AS bench,
            global_step,
            countIf(run_id = problem_id) > 0 AND countIf(run_id = bench_id) > 0 AS is_pair,
            argMinIf((token_id, log_probability), (rank, epoch, seq), run_id = problem_id) AS of_problem,
            argMinIf((token_id, log_probability), (rank, epoch, seq), run_id = bench_id) AS of_bench,
            tupleElement(of_problem, 1) = tupleElement(of_bench, 1) AS same_id,
            if(tupleElement(of_problem, 2) = tupleElement(of_bench, 2), 0., tupleElement(of_problem, 2) - tupleElement(of_bench, 2)) AS difference,
            max(event_time_ns) AS told_time_ns
        FROM tap.tokens AS t
        INNER JOIN asked ON asked.side_id = t.run_id
        INNER JOIN latest ON latest.latest_id = asked.problem_id
        WHERE t.run_id IN (
            SELECT side_id
            FROM asked
        ) AND global_step + 100 > last_step
        GROUP BY
            problem,
            bench,
            global_step,
            prompt_hash,
            sample,
            position
        HAVING is_pair
    ),
    allowed AS (
        SELECT
            asked.problem AS problem,
            asked.bench AS bench,
            if(max(t.tolerance) = 0, 2e-2, max(t.tolerance)) AS most
        FROM asked
        LEFT JOIN (
            SELECT
                run_id,
                tolerance
            FROM tap.token_tolerances
            WHERE run_id IN (
                SELECT side_id
                FROM asked
            )
        ) AS t ON t.run_id = asked.side_id
        GROUP BY
            problem,
            bench
    ),
    steps AS (
        SELECT
            problem,
            bench,
            global_step,
            count() AS paired_count,
            countIf(NOT same_id) AS other_id_count,
            countIf(same_id AND NOT isFinite(difference)) AS not_finite_count,
            avgIf(abs(difference), same_id AND isFinite(difference)) AS mean,
            max(told_time_ns) AS event_time_ns
        FROM told
        GROUP BY
            problem,
            bench,
            global_step
    )
SELECT
    steps.problem AS problem,
    steps.bench AS bench,
    steps.global_step AS global_step,
    paired_count,
    other_id_count,
    not_finite_count,
    if(isNaN(mean), NULL, mean) AS mean_difference,
    allowed.most AS tolerance,
    other_id_count > 0 OR not_finite_count > 0 OR ifNull(mean_difference > tolerance, 0) AS drifts,
    event_time_ns
FROM steps
INNER JOIN allowed ON allowed.problem = steps.problem AND allowed.bench = steps.bench
