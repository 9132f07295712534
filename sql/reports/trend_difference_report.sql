-- Question: how does one statistic of two runs compare, from step to step, layer by layer, rank by rank, or otherwise grouped?
-- Grain: one row per group, step that either run has; layers and ranks by number, other groups by name, then by step
-- Reads: tap.trends
-- Empty when: neither run has tensors of that role and phase at those steps
-- Parameter problem: run under suspicion.
-- Parameter bench: run it is held against.
-- Parameter statistic = l2: l2, rms, mean, min, max, nan_count, infinity_count, not_finite_count, row_count or element_count.
-- Parameter by = layer: layer, module, op, site or rank.
-- Parameter role = all: input, kwarg, output, parameter, parameter_gradient, or all.
-- Parameter phase = all: forward, backward, recompute, gradient, optimizer, none, or all.
-- Parameter first_step = 0: first step of the problem.
-- Parameter last_step = -1: last step of the problem; -1 for all.
-- Parameter step_offset = 0: step of the bench less that of the problem.
-- Parameter limit = 10000: greatest number of rows.
-- The ratio is problem by bench: 1 where both are 0, infinite where only the bench is, null where one has no value.
WITH
    problem AS (
        SELECT
            group_index,
            group_name,
            toInt64(step) AS step,
            value,
            row_count,
            not_finite_row_count
        FROM tap.trends(
            run = {problem:String}, statistic = {statistic:String}, by = {by:String}, role = {role:String}, phase = {phase:String},
            first_step = {first_step:Int64}, last_step = {last_step:Int64})
    ),
    bench AS (
        SELECT
            group_index,
            group_name,
            toInt64(step) - {step_offset:Int64} AS step,
            value,
            row_count,
            not_finite_row_count
        FROM tap.trends(
            run = {bench:String}, statistic = {statistic:String}, by = {by:String}, role = {role:String}, phase = {phase:String},
            first_step = 0, last_step = -1)
        WHERE step >= {first_step:Int64} + {step_offset:Int64}
            AND ({last_step:Int64} = -1 OR step <= {last_step:Int64} + {step_offset:Int64})
    ),
    both AS (
        SELECT
            group_index,
            group_name,
            step,
            problem.value AS problem_value,
            CAST(NULL, 'Nullable(Float64)') AS bench_value,
            problem.row_count AS problem_row_count,
            toUInt64(0) AS bench_row_count,
            problem.not_finite_row_count AS problem_not_finite_row_count,
            toUInt64(0) AS bench_not_finite_row_count
        FROM problem
        UNION ALL
        SELECT
            group_index,
            group_name,
            step,
            NULL AS problem_value,
            bench.value AS bench_value,
            0 AS problem_row_count,
            bench.row_count AS bench_row_count,
            0 AS problem_not_finite_row_count,
            bench.not_finite_row_count AS bench_not_finite_row_count
        FROM bench
    )
SELECT
    group_index,
    group_name,
    step,
    anyOrNull(both.problem_value) AS problem_value,
    anyOrNull(both.bench_value) AS bench_value,
    if(problem_value = 0 AND bench_value = 0, 1, problem_value / bench_value) AS ratio,
    sum(both.problem_row_count) AS problem_row_count,
    sum(both.bench_row_count) AS bench_row_count,
    sum(both.problem_not_finite_row_count) AS problem_not_finite_row_count,
    sum(both.bench_not_finite_row_count) AS bench_not_finite_row_count
FROM both
GROUP BY
    group_index,
    group_name,
    step
ORDER BY
    group_index,
    group_name,
    step
LIMIT {limit:UInt64}
