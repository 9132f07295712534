-- Question: what differs first on each rank, and is the error made there or handed on?
-- Grain: one row per rank that differs
-- Reads: tap.wanted_comparison, tap.judged_steps, tap_store.verdict, tap_store.site, tap_store.op, tap_store.layout
-- Empty when: nothing differs beyond the tolerance, or nothing was judged
-- Shown: rank, step, op, module, role, path, verdict, error, error_in, error_out
-- Parameter problem: name of the run under suspicion.
-- Parameter bench: name of the run it is held against.
-- Parameter comparison = '': id of the comparison, of several; empty for the one that was asked for last.
-- Parameter rank = -1: only this rank of the problem; -1 for all.
-- Parameter first_step = 0: first step of the problem.
-- Parameter last_step = -1: last step of the problem; -1 for all.
WITH
    (
        SELECT comparison_id
        FROM tap.wanted_comparison(problem = {problem:String}, bench = {bench:String}, comparison = {comparison:String})
    ) AS wanted_id,
    firsts AS (
        SELECT
            rank,
            min(step) AS earliest_step,
            argMin((first_seq, first_micro_step, first_site_id), step) AS place,
            tupleElement(argMin(tuple(first_error_in), step), 1) AS error_in,
            tupleElement(argMin(tuple(first_error_out), step), 1) AS error_out,
            argMin(epoch, step) AS earliest_epoch,
            sum(differing_count) AS rank_differing_count
        FROM tap.judged_steps
        WHERE comparison_id = wanted_id
            AND ({rank:Int64} = -1 OR rank = {rank:Int64})
            AND step >= {first_step:Int64}
            AND ({last_step:Int64} = -1 OR step <= {last_step:Int64})
            AND differing_count > 0
        GROUP BY rank
    ),
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
            evidence,
            reason,
            side,
            error,
            tolerance,
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
            AND (step, seq, rank, micro_step, site_id, epoch) IN (
                SELECT
                    earliest_step,
                    tupleElement(place, 1),
                    rank,
                    tupleElement(place, 2),
                    tupleElement(place, 3),
                    earliest_epoch
                FROM firsts
            )
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
    shown.error AS error,
    shown.tolerance AS tolerance,
    shown.side AS side,
    firsts.error_in AS error_in,
    firsts.error_out AS error_out,
    if(error_in > 0 AND isFinite(error_in), error_out / error_in, NULL) AS error_ratio,
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
    shown.user_frame AS user_frame,
    firsts.rank_differing_count AS differing_count
FROM shown
LEFT ANY JOIN firsts ON firsts.rank = shown.rank
LEFT ANY JOIN tap_store.site AS site ON site.site_id = shown.site_id
LEFT ANY JOIN tap_store.op AS op ON op.op_id = site.op_id
LEFT ANY JOIN tap_store.layout AS problem_layout ON problem_layout.layout_id = shown.problem_layout_id
LEFT ANY JOIN tap_store.layout AS bench_layout ON bench_layout.layout_id = shown.bench_layout_id
LEFT ANY JOIN tap_store.op AS parent ON parent.op_id = shown.parent_op_id
ORDER BY
    step,
    rank
