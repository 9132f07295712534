-- Question: where does the problem run differ from the bench run, first things first?
-- Grain: one row per rank, step, op, role, path that differs, by step, then position in the problem's execution order, then rank
-- Reads: tap.verdicts, tap.sites, tap.ops, tap.layouts, tap.steps, tap.programs, tap.program_stacks, tap.stacks
-- Empty when: nothing differs beyond the tolerance; divergence_summary says how much was compared
-- Shown: rank, step, op, module, role, path, verdict, error, tolerance, evidence
-- Parameter problem: name of the run under suspicion.
-- Parameter bench: name of the run it is held against.
-- Parameter benches = []: names of further bench runs; from three on in all, their spread is the tolerance.
-- Parameter tolerance = -1: greatest relative error that is tolerated; -1 for one by dtype and depth.
-- Parameter tolerances = []: rules (op pattern, dtype pattern, tolerance) that go before it, the first that fits counts.
-- Parameter rank = -1: only this rank of the problem; -1 for all.
-- Parameter first_step = 0: first step of the problem.
-- Parameter last_step = -1: last step of the problem; -1 for all.
-- Parameter step_offset = 0: what to add to a step of the problem for that of the bench.
-- Parameter texts = 1: 0 leaves out arguments that are text, such as ids of requests.
-- Parameter limit = 20: greatest number of rows.
WITH
    shown AS (
        SELECT
            rank,
            step,
            micro_step,
            seq,
            site_id,
            bench_site_id,
            verdict,
            numeric,
            evidence,
            reason,
            side,
            structure,
            error,
            tolerance,
            z_score,
            problem_layout_id,
            bench_layout_id,
            problem_measured,
            bench_measured,
            problem_min,
            bench_min,
            problem_max,
            bench_max,
            problem_mean,
            bench_mean,
            problem_l2,
            bench_l2
        FROM tap.verdicts(problem = {problem:String}, bench = {bench:String}, benches = {benches:Array(String)}, tolerance = {tolerance:Float64}, tolerances = {tolerances:Array(Tuple(String, String, Float64))}, rank = {rank:Int64}, first_step = {first_step:Int64}, last_step = {last_step:Int64}, step_offset = {step_offset:Int64})
        WHERE differs
            AND ({texts:UInt8} = 1 OR problem_measured != 0 OR problem_layout_id NOT IN (
                SELECT layout_id
                FROM tap.layouts
                WHERE kind = 'str'
            ))
        ORDER BY
            step,
            seq,
            rank,
            micro_step,
            site_id
        LIMIT {limit:UInt64}
    ),
    shown_steps AS (
        SELECT
            rank,
            step,
            run_id,
            program_id
        FROM tap.steps
        WHERE run_id = xxh3(concat({problem:String}, char(31)))
    ),
    shown_frames AS (
        SELECT
            program_stacks.program_id AS program_id,
            program_stacks.position AS position,
            stacks.user_frame AS frame
        FROM tap.program_stacks
        INNER JOIN tap.stacks ON stacks.stack_id = program_stacks.stack_id
        WHERE program_stacks.run_id = xxh3(concat({problem:String}, char(31)))
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
    toString(shown.verdict) AS verdict,
    toString(shown.numeric) AS numeric,
    toString(shown.evidence) AS evidence,
    if(isNaN(shown.error), NULL, toNullable(shown.error)) AS error,
    if(isNaN(shown.tolerance), NULL, toNullable(shown.tolerance)) AS tolerance,
    if(isNaN(shown.z_score), NULL, toNullable(shown.z_score)) AS z_score,
    if(shown.numeric = 'not_finite', toString(shown.side), '') AS not_finite_side,
    shown.reason AS reason,
    multiIf(
        NOT shown.structure, '',
        problem_layout.kind = '' OR bench_layout.kind = '', 'unknown layout',
        problem_layout.kind != bench_layout.kind, 'kind',
        arrayStringConcat(arrayFilter(part -> part != '', [
            if(problem_layout.dtype != bench_layout.dtype, 'dtype', ''),
            if(problem_layout.shape != bench_layout.shape, 'shape', ''),
            if(problem_layout.literal != bench_layout.literal, 'literal', ''),
            if(problem_layout.requires_grad != bench_layout.requires_grad, 'requires_grad', '')]), ' ')) AS structure,
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
    if(bench_op.op_id = op.op_id, '', bench_op.name) AS bench_op,
    parent.name AS parent,
    shown_frames.frame AS user_frame
FROM shown
LEFT ANY JOIN tap.sites AS site ON site.site_id = shown.site_id
LEFT ANY JOIN tap.ops AS op ON op.op_id = site.op_id
LEFT ANY JOIN tap.sites AS bench_site ON bench_site.site_id = shown.bench_site_id
LEFT ANY JOIN tap.ops AS bench_op ON bench_op.op_id = bench_site.op_id
LEFT ANY JOIN tap.layouts AS problem_layout ON problem_layout.layout_id = shown.problem_layout_id
LEFT ANY JOIN tap.layouts AS bench_layout ON bench_layout.layout_id = shown.bench_layout_id
LEFT ANY JOIN shown_steps ON shown_steps.rank = shown.rank AND shown_steps.step = shown.step
LEFT ANY JOIN tap.programs AS program ON program.program_id = shown_steps.program_id AND program.op_id = site.op_id
LEFT ANY JOIN tap.ops AS parent ON parent.op_id = program.parent_op_id
LEFT ANY JOIN shown_frames ON shown_frames.program_id = program.program_id AND shown_frames.position = program.position
ORDER BY
    step,
    position,
    rank,
    shown.micro_step,
    shown.site_id
