-- Question: what differs first on each rank, and is the error made there or handed on?
-- Grain: one row per rank of the problem that differs
-- Reads: tap.verdicts, tap.program_pairs, tap.sites, tap.ops, tap.layouts, tap.programs, tap.program_stacks, tap.stacks, tap_store.step
-- Empty when: nothing differs beyond the tolerance
-- Shown: rank, step, op, module, role, path, verdict, error, error_in, error_out
-- Parameter problem: name of the run under suspicion.
-- Parameter bench: name of the run it is held against.
-- Parameter benches = []: names of further bench runs; from three on in all, their spread is the tolerance.
-- Parameter tolerance = -1: greatest relative error that is tolerated; -1 for one by dtype and depth.
-- Parameter tolerances = []: rules (op pattern, dtype pattern, tolerance) that go before it, the first that fits counts.
-- Parameter rank = -1: only this rank of the problem; -1 for all.
-- Parameter first_step = 0: first step of the problem.
-- Parameter last_step = -1: last step of the problem; -1 for all.
-- Parameter step_offset = 0: what to add to a step of the problem for that of the bench.
-- First is by step, then by place in the execution order of the problem's rank. Beside it stand the greatest error
-- of what its op took (inputs, arguments and parameters) and of what it gave, and how many times as large that is: no
-- ratio where one is not known or nothing was off before.
WITH
    first_ones AS (
        SELECT
            first_one.rank AS rank,
            first_one.earliest AS earliest,
            tupleElement(first_one.earliest, 1) AS step,
            tupleElement(first_one.earliest, 3) AS micro_step,
            first_one.differing_count AS differing_count,
            site.op_id AS op_id
        FROM
        (
            SELECT
                rank,
                argMin((step, seq, micro_step, site_id, bench_site_id, problem_layout_id, bench_layout_id, problem_measured, bench_measured, problem_min, bench_min, problem_max, bench_max, problem_mean, bench_mean, problem_l2, bench_l2, error, tolerance, toString(evidence), toString(verdict), toString(side), reason, differs), (step, seq, micro_step, site_id)) AS earliest,
                count() AS differing_count
            FROM tap.verdicts(problem = {problem:String}, bench = {bench:String}, benches = {benches:Array(String)}, tolerance = {tolerance:Float64}, tolerances = {tolerances:Array(Tuple(String, String, Float64))}, rank = {rank:Int64}, first_step = {first_step:Int64}, last_step = {last_step:Int64}, step_offset = {step_offset:Int64})
            WHERE differs
            GROUP BY rank
        ) AS first_one
        LEFT ANY JOIN tap.sites AS site ON site.site_id = tupleElement(first_one.earliest, 4)
    )
SELECT
    shown.rank AS rank,
    shown.step AS step,
    shown.seq AS position,
    multiIf(op.name != '', op.name, site.op_id != 0, leftPad(lower(hex(site.op_id)), 16, '0'), leftPad(lower(hex(shown.site_id)), 16, '0')) AS op,
    multiIf(
        op.module_path != '', op.module_path,
        parent.module_path != '', parent.module_path,
        parent.name) AS module,
    site.role AS role,
    site.path AS path,
    shown.verdict AS verdict,
    shown.reason AS reason,
    shown.evidence AS evidence,
    if(isNaN(shown.error), NULL, toNullable(shown.error)) AS error,
    if(isNaN(shown.tolerance), NULL, toNullable(shown.tolerance)) AS tolerance,
    shown.side AS side,
    shown.error_in AS error_in,
    shown.error_out AS error_out,
    if(shown.error_in > 0 AND isFinite(shown.error_in), shown.error_out / shown.error_in, NULL) AS error_ratio,
    problem_layout.dtype AS problem_dtype,
    bench_layout.dtype AS bench_dtype,
    problem_layout.shape AS problem_shape,
    bench_layout.shape AS bench_shape,
    problem_layout.literal AS problem_literal,
    bench_layout.literal AS bench_literal,
    if(bitTest(shown.problem_measured, 0), toNullable(shown.problem_min), NULL) AS problem_min,
    if(bitTest(shown.bench_measured, 0), toNullable(shown.bench_min), NULL) AS bench_min,
    if(bitTest(shown.problem_measured, 1), toNullable(shown.problem_max), NULL) AS problem_max,
    if(bitTest(shown.bench_measured, 1), toNullable(shown.bench_max), NULL) AS bench_max,
    if(bitTest(shown.problem_measured, 2), toNullable(shown.problem_mean), NULL) AS problem_mean,
    if(bitTest(shown.bench_measured, 2), toNullable(shown.bench_mean), NULL) AS bench_mean,
    if(bitTest(shown.problem_measured, 4), toNullable(shown.problem_l2), NULL) AS problem_l2,
    if(bitTest(shown.bench_measured, 4), toNullable(shown.bench_l2), NULL) AS bench_l2,
    parent.name AS parent,
    stack.user_frame AS user_frame,
    shown.differing_count AS differing_count
FROM
(
    SELECT
        rank,
        tupleElement(earliest, 1) AS step,
        tupleElement(earliest, 2) AS seq,
        tupleElement(earliest, 3) AS micro_step,
        tupleElement(earliest, 4) AS site_id,
        tupleElement(earliest, 5) AS bench_site_id,
        tupleElement(earliest, 6) AS problem_layout_id,
        tupleElement(earliest, 7) AS bench_layout_id,
        tupleElement(earliest, 8) AS problem_measured,
        tupleElement(earliest, 9) AS bench_measured,
        tupleElement(earliest, 10) AS problem_min,
        tupleElement(earliest, 11) AS bench_min,
        tupleElement(earliest, 12) AS problem_max,
        tupleElement(earliest, 13) AS bench_max,
        tupleElement(earliest, 14) AS problem_mean,
        tupleElement(earliest, 15) AS bench_mean,
        tupleElement(earliest, 16) AS problem_l2,
        tupleElement(earliest, 17) AS bench_l2,
        tupleElement(earliest, 18) AS error,
        tupleElement(earliest, 19) AS tolerance,
        tupleElement(earliest, 20) AS evidence,
        tupleElement(earliest, 21) AS verdict,
        tupleElement(earliest, 22) AS side,
        tupleElement(earliest, 23) AS reason,
        differing_count,
        error_in,
        error_out
    FROM
    (
        SELECT
            first_ones.rank AS rank,
            any(first_ones.earliest) AS earliest,
            any(first_ones.differing_count) AS differing_count,
            maxOrNullIf(judged.error, judged.role NOT IN ('output', 'parameter_gradient') AND NOT isNaN(judged.error)) AS error_in,
            maxOrNullIf(judged.error, judged.role IN ('output', 'parameter_gradient') AND NOT isNaN(judged.error)) AS error_out
        FROM
        (
            SELECT
                pair.rank AS rank,
                pair.step AS step,
                pair.micro_step AS micro_step,
                pair.error AS error,
                site.op_id AS op_id,
                site.role AS role
            FROM
            (
                SELECT
                    rank,
                    step,
                    micro_step,
                    site_id,
                    error
                FROM tap.verdicts(problem = {problem:String}, bench = {bench:String}, benches = {benches:Array(String)}, tolerance = {tolerance:Float64}, tolerances = {tolerances:Array(Tuple(String, String, Float64))}, rank = {rank:Int64}, first_step = {first_step:Int64}, last_step = {last_step:Int64}, step_offset = {step_offset:Int64})
                -- Literals have no elements, and an error that means nothing.
                WHERE problem_present AND problem_element_count > 0
            ) AS pair
            LEFT ANY JOIN tap.sites AS site ON site.site_id = pair.site_id
        ) AS judged
        RIGHT JOIN first_ones ON first_ones.rank = judged.rank
            AND first_ones.step = judged.step
            AND first_ones.micro_step = judged.micro_step
            AND first_ones.op_id = judged.op_id
        GROUP BY rank
    )
) AS shown
LEFT ANY JOIN tap.sites AS site ON site.site_id = shown.site_id
LEFT ANY JOIN
(
    SELECT
        rank,
        step,
        problem_program_id,
        bench_program_id
    FROM tap.program_pairs(problem = {problem:String}, bench = {bench:String}, rank = {rank:Int64}, first_step = {first_step:Int64}, last_step = {last_step:Int64}, step_offset = {step_offset:Int64})
) AS program_pair ON program_pair.rank = shown.rank AND program_pair.step = shown.step
LEFT ANY JOIN
(
    SELECT
        program_id,
        op_id,
        parent_op_id,
        position
    FROM tap.programs
    WHERE program_id IN (
        SELECT program_id
        FROM tap_store.step
        WHERE run_id = xxh3(concat({problem:String}, char(31)))
    )
) AS program ON program.program_id = program_pair.problem_program_id AND program.op_id = site.op_id
LEFT ANY JOIN
(
    SELECT
        program_id,
        position,
        stack_id
    FROM tap.program_stacks
    WHERE run_id = xxh3(concat({problem:String}, char(31)))
) AS call ON call.program_id = program.program_id AND call.position = program.position
LEFT ANY JOIN tap.stacks AS stack ON stack.stack_id = call.stack_id
LEFT ANY JOIN tap.ops AS op ON op.op_id = site.op_id
LEFT ANY JOIN tap.ops AS parent ON parent.op_id = program.parent_op_id
LEFT ANY JOIN tap.layouts AS problem_layout ON problem_layout.layout_id = shown.problem_layout_id
LEFT ANY JOIN tap.layouts AS bench_layout ON bench_layout.layout_id = shown.bench_layout_id
ORDER BY
    step,
    rank
