-- Question: which ATen ops, dtypes, shapes and strides did only one of two runs call, or not as often?
-- Grain: one row per rank, signature that differs in a step of both; and one per rank, run with steps that the other lacks
-- Reads: tap.signature_pairs, tap.runs
-- Empty when: both runs called the same as often in every step, or none was recorded at level aten
-- Parameter problem: name of the run under suspicion.
-- Parameter bench: name of the run it is held against.
-- Parameter rank = -1: only this rank of the problem; -1 for all.
-- Parameter first_step = 0: first step of the problem.
-- Parameter last_step = -1: last step of the problem; -1 for all.
-- Parameter limit = 1000: greatest number of rows.
-- Ranks are the problem's, and the bench's own where steps are only in the bench.
-- Where a run was read from a log without repeated lines, neither counts nor steps are known: what a whole rank lacks is told alone.
WITH (
        SELECT countIf(labels['deduped'] = 'true') > 0
        FROM tap.runs
        WHERE name IN ({problem:String}, {bench:String})
    ) AS deduped
SELECT
    rank,
    multiIf(NOT in_bench, 'steps only in problem', NOT in_problem, 'steps only in bench', bench_count = 0, 'only in problem', problem_count = 0, 'only in bench', 'other count') AS difference,
    if(is_paired, s.op, '') AS op,
    if(is_paired, s.inputs, []) AS inputs,
    if(is_paired, s.outputs, []) AS outputs,
    sum(s.problem_call_count) AS problem_count,
    sum(s.bench_call_count) AS bench_count,
    minIf(s.step, s.problem_call_count != s.bench_call_count) AS first_step,
    if(is_paired, argMinIf(s.module_path, s.step, s.problem_call_count != s.bench_call_count), '') AS module,
    uniqExactIf(s.step, s.problem_call_count != s.bench_call_count) AS step_count
FROM
(
    SELECT
        rank,
        step,
        op,
        inputs,
        outputs,
        module_path,
        problem_call_count,
        bench_call_count,
        if(deduped, max(problem_call_count) OVER (PARTITION BY rank) > 0, in_problem) AS in_problem,
        if(deduped, max(bench_call_count) OVER (PARTITION BY rank) > 0, in_bench) AS in_bench,
        in_problem AND in_bench AS is_paired
    FROM tap.signature_pairs(problem = {problem:String}, bench = {bench:String}, rank = {rank:Int64}, first_step = {first_step:Int64}, last_step = {last_step:Int64})
) AS s
GROUP BY
    rank,
    in_problem,
    in_bench,
    is_paired,
    op,
    inputs,
    outputs
HAVING step_count > 0 AND (NOT deduped OR problem_count = 0 OR bench_count = 0)
ORDER BY
    op = '',
    first_step,
    rank,
    difference,
    op,
    inputs,
    outputs
LIMIT {limit:UInt64}
