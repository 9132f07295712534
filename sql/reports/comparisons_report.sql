-- Question: which comparisons of stored runs were made, and what did they answer?
-- Grain: one row per comparison, latest first
-- Reads: tap.comparisons, tap.findings
-- Empty when: no such runs were compared
-- Shown: comparison_id, created_time_ns, problem, benches, verdict, complete, origin, rank, step, paired_count, diverged_count
-- Parameter problem = '': only this run under suspicion; empty for any.
-- Parameter bench = '': only where this run is the first or a further bench; empty for any.
-- Parameter limit = 20: greatest number of rows.
WITH first_origins AS (
    SELECT
        comparison_id,
        argMin(op, position) AS first_op,
        argMin(rank, position) AS first_rank,
        argMin(step, position) AS first_step,
        count() AS origin_count
    FROM tap.findings
    WHERE origin = 1
    GROUP BY comparison_id
)
SELECT
    made.comparison_id AS comparison_id,
    made.created_time_ns AS created_time_ns,
    made.problem AS problem,
    made.benches AS benches,
    made.verdict AS verdict,
    made.complete = 1 AS complete,
    first_origins.origin_count AS origin_count,
    if(origin_count > 0, toNullable(first_origins.first_op), NULL) AS origin,
    if(origin_count > 0, toNullable(first_origins.first_rank), NULL) AS rank,
    if(origin_count > 0, toNullable(first_origins.first_step), NULL) AS step,
    made.paired_count AS paired_count,
    made.only_problem_count AS only_problem_count,
    made.only_bench_count AS only_bench_count,
    made.unknown_count AS unknown_count,
    made.equal_count AS equal_count,
    made.within_count AS within_count,
    made.agrees_count AS agrees_count,
    made.diverged_count AS diverged_count,
    made.not_finite_count AS not_finite_count,
    made.structure_count AS structure_count,
    made.question AS question,
    made.rules AS rules,
    made.tool_version AS tool_version
FROM tap.comparisons AS made
LEFT ANY JOIN first_origins ON first_origins.comparison_id = made.comparison_id
WHERE ({problem:String} = '' OR made.problem = {problem:String})
    AND ({bench:String} = '' OR has(made.benches, {bench:String}))
ORDER BY
    created_time_ns DESC,
    comparison_id DESC
LIMIT {limit:UInt64}
