-- Question: what does msProbe's own compare print, row by row?
-- Grain: one row per rank, step, tensor or other argument of an op of the problem run
-- Reads: tap.msprobe_results, tap.steps, tap.programs, tap.program_stacks, tap.stacks, tap.payloads
-- Empty when: the runs have no step of a rank in common
-- Shown: rank, step, name, bench_name, msprobe_result, max_relative_error, mean_relative_error, norm_relative_error
-- Parameter problem: name of the run under suspicion.
-- Parameter bench: name of the run it is held against.
-- Parameter rank = -1: only this rank of the problem; -1 for all.
-- Parameter first_step = 0: first step of the problem.
-- Parameter last_step = -1: last step of the problem; -1 for all.
-- Parameter step_offset = 0: what is added to a step of the problem for that of the bench.
WITH
    (
        SELECT count()
        FROM tap.program_stacks
        WHERE run_id = xxh3(concat({problem:String}, char(31)))
    ) AS stack_count,
    kept_files AS (
        SELECT
            run_id,
            rank,
            toInt64(step) AS step_number,
            site_id,
            arrayElement(splitByChar('/', location), -1) AS file
        FROM tap.payloads
        WHERE run_id IN (xxh3(concat({problem:String}, char(31))), xxh3(concat({bench:String}, char(31))))
    )
SELECT
    r.rank AS rank,
    r.step AS step,
    seq,
    mode,
    r.op AS op,
    r.name AS name,
    bench_name,
    paired,
    toString(r.msprobe_result) AS msprobe_result,
    msprobe_message,
    problem_dtype,
    bench_dtype,
    problem_shape,
    bench_shape,
    problem_requires_grad,
    bench_requires_grad,
    problem_value,
    bench_value,
    problem_checksum,
    bench_checksum,
    problem_max,
    bench_max,
    problem_min,
    bench_min,
    problem_mean,
    bench_mean,
    problem_norm,
    bench_norm,
    max_difference,
    min_difference,
    mean_difference,
    norm_difference,
    max_relative_error,
    min_relative_error,
    mean_relative_error,
    norm_relative_error,
    compared,
    cosine,
    l2_distance,
    max_absolute,
    max_relative,
    thousandth_ratio,
    five_thousandth_ratio,
    payload_message,
    p.file AS problem_file,
    b.file AS bench_file,
    toBool(assumeNotNull(stack_count) > 0) AS has_stacks,
    frames
FROM
(
    SELECT
        rank,
        bench_rank,
        step,
        toInt64(step) AS problem_step,
        toInt64(step) + {step_offset:Int64} AS bench_step,
        seq,
        mode,
        op_id,
        op,
        site_id,
        name,
        bench_site_id,
        bench_name,
        paired,
        msprobe_result,
        msprobe_message,
        problem_dtype,
        bench_dtype,
        problem_shape,
        bench_shape,
        problem_requires_grad,
        bench_requires_grad,
        problem_value,
        bench_value,
        problem_checksum,
        bench_checksum,
        problem_max,
        bench_max,
        problem_min,
        bench_min,
        problem_mean,
        bench_mean,
        problem_norm,
        bench_norm,
        max_difference,
        min_difference,
        mean_difference,
        norm_difference,
        max_relative_error,
        min_relative_error,
        mean_relative_error,
        norm_relative_error,
        compared,
        cosine,
        l2_distance,
        max_absolute,
        max_relative,
        thousandth_ratio,
        five_thousandth_ratio,
        payload_message,
        if(seq = min(seq) OVER (PARTITION BY rank, step, op_id), op_id, 0) AS first_of_op
    FROM tap.msprobe_results(problem = {problem:String}, bench = {bench:String}, rank = {rank:Int64}, first_step = {first_step:Int64}, last_step = {last_step:Int64}, step_offset = {step_offset:Int64})
) AS r
LEFT ANY JOIN
(
    SELECT
        s.rank AS rank,
        s.step AS step,
        o.op_id AS op_id,
        frames
    FROM tap.steps AS s
    INNER JOIN tap.program_stacks AS c ON c.run_id = s.run_id AND c.program_id = s.program_id
    INNER JOIN tap.programs AS o ON o.program_id = c.program_id AND o.position = c.position
    INNER JOIN tap.stacks AS f ON f.stack_id = c.stack_id
    WHERE s.run_id = xxh3(concat({problem:String}, char(31)))
        AND ({rank:Int64} = -1 OR s.rank = {rank:Int64})
        AND s.step >= {first_step:Int64}
        AND ({last_step:Int64} = -1 OR s.step <= {last_step:Int64})
) AS st ON st.rank = r.rank AND st.step = r.step AND st.op_id = r.first_of_op
LEFT ANY JOIN kept_files AS p ON p.run_id = xxh3(concat({problem:String}, char(31))) AND p.rank = r.rank AND p.step_number = r.problem_step AND p.site_id = r.site_id
LEFT ANY JOIN kept_files AS b ON b.run_id = xxh3(concat({bench:String}, char(31))) AND b.rank = r.bench_rank AND b.step_number = r.bench_step AND b.site_id = r.bench_site_id
ORDER BY
    rank,
    step,
    seq
