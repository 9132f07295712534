-- Question: how much of the two runs was compared, and how much of it differs?
-- Grain: one row per rank, step of either run
-- Reads: tap.verdicts, tap.sites, tap.ops
-- Empty when: neither run has tensors at that rank and step
-- Shown: rank, step, paired_count, only_problem_count, only_bench_count, unknown_count, differing_count, greatest_error, first_op
-- Parameter problem: name of the run under suspicion.
-- Parameter bench: name of the run it is held against.
-- Parameter benches = []: names of further bench runs; from three on in all, their spread is the tolerance.
-- Parameter tolerance = -1: greatest relative error that is tolerated; -1 for one by dtype and depth.
-- Parameter tolerances = []: rules (op pattern, dtype pattern, tolerance) that go before it, the first that fits counts.
-- Parameter rank = -1: only this rank of the problem; -1 for all.
-- Parameter first_step = 0: first step of the problem.
-- Parameter last_step = -1: last step of the problem; -1 for all.
-- Parameter step_offset = 0: what to add to a step of the problem for that of the bench.
-- Each row of either run is in one of four classes: paired (and then has one of the six verdicts from equal to
-- structure), only in the problem, only in the bench, or unknown.
WITH counted AS (
    SELECT
        rank,
        step,
        countIf(verdict IN ('equal', 'within', 'agrees', 'diverged', 'not_finite', 'structure')) AS paired_count,
        countIf(verdict IN ('unpaired') AND problem_present) AS only_problem_count,
        countIf(verdict IN ('unpaired') AND bench_present) AS only_bench_count,
        countIf(verdict = 'unknown') AS unknown_count,
        countIf(verdict IN ('unknown') AND NOT (problem_present AND bench_present)) AS alone_unknown_count,
        countIf(verdict = 'equal') AS equal_count,
        countIf(verdict = 'within') AS within_count,
        countIf(verdict = 'agrees') AS agrees_count,
        countIf(verdict = 'diverged') AS diverged_count,
        countIf(verdict = 'not_finite') AS not_finite_count,
        countIf(verdict = 'structure') AS structure_count,
        countIf(problem_present AND bench_present AND evidence NOT IN ('none', 'literal')) AS measured_count,
        countIf(verdict IN ('equal') AND evidence NOT IN ('literal')) AS proved_equal_count,
        countIf(structure AND NOT (problem_measured > 0 OR bench_measured > 0)) AS argument_count,
        countIf(verdict IN ('not_finite') AND NOT differs) AS same_not_finite_count,
        countIf(reason = 'bits differ') AS bits_differ_count,
        countIf(reason = 'uninitialised') AS uninitialised_count,
        arrayStringConcat(arraySort(arrayFilter(text -> text != '', groupUniqArrayIf(reason, verdict = 'unknown'))), ', ') AS unknown_reasons,
        maxOrNullIf(error, isFinite(error)) AS greatest_error,
        countIf(differs) AS differing_count,
        argMinIf(site_id, seq, differs) AS first_site_id,
        minIf(seq, differs) AS first_seq
    FROM tap.verdicts(problem = {problem:String}, bench = {bench:String}, benches = {benches:Array(String)}, tolerance = {tolerance:Float64}, tolerances = {tolerances:Array(Tuple(String, String, Float64))}, rank = {rank:Int64}, first_step = {first_step:Int64}, last_step = {last_step:Int64}, step_offset = {step_offset:Int64})
    GROUP BY
        rank,
        step
)
SELECT
    counted.rank AS rank,
    counted.step AS step,
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
    unknown_reasons,
    greatest_error,
    differing_count,
    if(differing_count > 0, toNullable(first_seq), NULL) AS first_position,
    multiIf(
        differing_count = 0, '',
        op.name != '', op.name,
        site.op_id != 0, leftPad(lower(hex(site.op_id)), 16, '0'),
        leftPad(lower(hex(first_site_id)), 16, '0')) AS first_op,
    if(differing_count > 0, site.role, '') AS first_role,
    if(differing_count > 0, site.path, '') AS first_path
FROM counted
LEFT ANY JOIN tap.sites AS site ON site.site_id = counted.first_site_id
LEFT ANY JOIN tap.ops AS op ON op.op_id = site.op_id
ORDER BY
    step,
    rank
