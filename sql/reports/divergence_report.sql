-- Question: where does the problem run differ from the bench run, first things first?
-- Grain: one row per rank, step, op, role, path that differs, by step, then position in the problem's execution order, then rank
-- Reads: tap.wanted_comparison, tap.kept_judgings, tap_store.verdict, tap_store.site, tap_store.op, tap_store.layout
-- Empty when: nothing differs beyond the tolerance, or nothing was judged
-- Shown: rank, step, op, module, role, path, verdict, error, tolerance, evidence
-- Parameter problem: name of the run under suspicion.
-- Parameter bench: name of the run it is held against.
-- Parameter comparison = '': id of the comparison, of several; empty for the one that was asked for last.
-- Parameter rank = -1: only this rank of the problem; -1 for all.
-- Parameter first_step = 0: first step of the problem.
-- Parameter last_step = -1: last step of the problem; -1 for all.
-- Parameter texts = 1: 0 leaves out arguments that are text, such as ids of requests.
-- Parameter limit = 20: greatest number of rows.
WITH
    (
        SELECT comparison_id
        FROM tap.wanted_comparison(problem = {problem:String}, bench = {bench:String}, comparison = {comparison:String})
    ) AS wanted_id,
    shown AS (
        SELECT
            rank,
            step,
            micro_step,
            seq,
            site_id,
            bench_site_id,
            parent_op_id,
            user_frame,
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
        FROM tap_store.verdict
        WHERE comparison_id = wanted_id
            AND ({rank:Int64} = -1 OR rank = {rank:Int64})
            AND step >= {first_step:Int64}
            AND ({last_step:Int64} = -1 OR step <= {last_step:Int64})
            AND (rank, step, epoch) IN (
                SELECT
                    rank,
                    step,
                    epoch
                FROM tap.kept_judgings
                WHERE comparison_id = wanted_id
            )
            AND differs
            AND ({texts:UInt8} = 1 OR problem_measured != 0 OR problem_layout_id NOT IN (
                SELECT layout_id
                FROM tap_store.layout
                WHERE kind = 'str'
            ))
        ORDER BY
            step,
            seq,
            rank,
            micro_step,
            site_id
        LIMIT {limit:UInt64}
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
    shown.numeric AS numeric,
    shown.evidence AS evidence,
    shown.error AS error,
    shown.tolerance AS tolerance,
    shown.z_score AS z_score,
    if(shown.numeric = 'not_finite', shown.side, '') AS not_finite_side,
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
    shown.user_frame AS user_frame
FROM shown
LEFT ANY JOIN tap_store.site AS site ON site.site_id = shown.site_id
LEFT ANY JOIN tap_store.op AS op ON op.op_id = site.op_id
LEFT ANY JOIN tap_store.site AS bench_site ON bench_site.site_id = shown.bench_site_id
LEFT ANY JOIN tap_store.op AS bench_op ON bench_op.op_id = bench_site.op_id
LEFT ANY JOIN tap_store.layout AS problem_layout ON problem_layout.layout_id = shown.problem_layout_id
LEFT ANY JOIN tap_store.layout AS bench_layout ON bench_layout.layout_id = shown.bench_layout_id
LEFT ANY JOIN tap_store.op AS parent ON parent.op_id = shown.parent_op_id
ORDER BY
    step,
    position,
    rank,
    shown.micro_step,
    shown.site_id
