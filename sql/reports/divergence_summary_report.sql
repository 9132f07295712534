-- Question: how much of the two runs was judged, and how much of it differs?
-- Grain: one row per rank, step of either run that was judged
-- Reads: tap.wanted_comparison, tap.judged_steps, tap_store.site, tap_store.op
-- Empty when: nothing was judged
-- Shown: rank, step, paired_count, only_problem_count, only_bench_count, unknown_count, differing_count, greatest_error, first_op
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
    ) AS wanted_id
SELECT
    judged.rank AS rank,
    judged.step AS step,
    paired_count,
    only_problem_count,
    only_bench_count,
    unknown_count,
    alone_unknown_count,
    equal_count,
    within_count,
    agrees_count,
    diverged_count,
    not_finite_count,
    structure_count,
    measured_count,
    proved_equal_count,
    argument_count,
    same_not_finite_count,
    bits_differ_count,
    uninitialised_count,
    arrayStringConcat(judged.unknown_reasons, ', ') AS unknown_reasons,
    greatest_error,
    differing_count,
    if(differing_count > 0, toNullable(judged.first_seq), NULL) AS first_position,
    multiIf(
        differing_count = 0, '',
        op.name != '', op.name,
        site.op_id != 0, leftPad(lower(hex(site.op_id)), 16, '0'),
        leftPad(lower(hex(judged.first_site_id)), 16, '0')) AS first_op,
    if(differing_count > 0, site.role, '') AS first_role,
    if(differing_count > 0, site.path, '') AS first_path
FROM tap.judged_steps AS judged
LEFT ANY JOIN tap_store.site AS site ON site.site_id = judged.first_site_id
LEFT ANY JOIN tap_store.op AS op ON op.op_id = site.op_id
WHERE judged.comparison_id = wanted_id
    AND ({rank:Int64} = -1 OR judged.rank = {rank:Int64})
    AND judged.step >= {first_step:Int64}
    AND ({last_step:Int64} = -1 OR judged.step <= {last_step:Int64})
ORDER BY
    step,
    rank
