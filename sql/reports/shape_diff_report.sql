-- Question: which ATen ops, dtypes, shapes and strides did only one of two runs call, or not as often?
-- Grain: one row per rank, signature that differs in a step of both; and one per rank, run with steps that the other lacks
-- Reads: tap.signature_counts
-- Empty when: both runs called the same as often in every step, or none was recorded at level aten
-- Parameter problem: name of the run under suspicion.
-- Parameter bench: name of the run it is held against.
-- Parameter rank = -1: only this rank; -1 for all.
-- Parameter first_step = 0: first step.
-- Parameter last_step = -1: last step; -1 for all.
-- Parameter limit = 1000: greatest number of rows.
WITH
    counted AS (
        SELECT
            arrayJoin(arrayFilter(side -> n.run_id = xxh3(concat(if(side, {problem:String}, {bench:String}), char(31))), [true, false])) AS is_problem,
            n.rank AS rank,
            n.step AS step,
            n.position AS place,
            n.op_name AS op,
            n.inputs AS inputs,
            n.outputs AS outputs,
            n.module_path AS module_path,
            n.call_count AS call_count
        FROM tap.signature_counts AS n
        WHERE n.run_id IN (xxh3(concat({problem:String}, char(31))), xxh3(concat({bench:String}, char(31))))
            AND ({rank:Int64} = -1 OR n.rank = {rank:Int64})
            AND n.step >= {first_step:Int64}
            AND ({last_step:Int64} = -1 OR n.step <= {last_step:Int64})
    ),
    common AS (
        SELECT
            rank,
            step
        FROM counted
        GROUP BY
            rank,
            step
        HAVING uniqExact(is_problem) = 2
    ),
    by_step AS (
        SELECT
            rank,
            step,
            op,
            inputs,
            outputs,
            sumIf(counted.call_count, is_problem) AS problem_calls,
            sumIf(counted.call_count, NOT is_problem) AS bench_calls,
            argMin(module_path, place) AS first_module
        FROM counted
        WHERE (rank, step) IN (SELECT rank, step FROM common)
        GROUP BY
            rank,
            step,
            op,
            inputs,
            outputs
    ),
    differing AS (
        SELECT
            rank,
            op,
            inputs,
            outputs,
            sum(problem_calls) AS problem_count,
            sum(bench_calls) AS bench_count,
            minIf(step, problem_calls != bench_calls) AS first_step,
            argMinIf(first_module, step, problem_calls != bench_calls) AS module,
            countIf(problem_calls != bench_calls) AS step_count
        FROM by_step
        GROUP BY
            rank,
            op,
            inputs,
            outputs
        HAVING step_count > 0
    )
SELECT
    rank,
    difference,
    op,
    inputs,
    outputs,
    problem_count,
    bench_count,
    first_step,
    module,
    step_count
FROM
(
    SELECT
        rank,
        multiIf(bench_count = 0, 'only in problem', problem_count = 0, 'only in bench', 'other count') AS difference,
        op,
        inputs,
        outputs,
        problem_count,
        bench_count,
        first_step,
        module,
        step_count
    FROM differing
    UNION ALL
    SELECT
        rank,
        if(is_problem, 'steps only in problem', 'steps only in bench') AS difference,
        '' AS op,
        [] AS inputs,
        [] AS outputs,
        sumIf(counted.call_count, is_problem) AS problem_count,
        sumIf(counted.call_count, NOT is_problem) AS bench_count,
        min(step) AS first_step,
        '' AS module,
        uniqExact(step) AS step_count
    FROM counted
    WHERE (rank, step) NOT IN (SELECT rank, step FROM common)
    GROUP BY
        rank,
        is_problem
)
ORDER BY
    op = '',
    first_step,
    rank,
    difference,
    op,
    inputs,
    outputs
LIMIT {limit:UInt64}
