-- Question: how much of the two runs was compared, and how much of it differs?
-- Grain: one row per rank, step of either run
-- Reads: tap.verdicts, tap.sites, tap.ops
-- Empty when: neither run has tensors at that rank and step
-- Parameter problem: name of the run under suspicion.
-- Parameter bench: name of the run it is held against.
-- Parameter tolerance = 1e-5: greatest relative error that still agrees; statistics only prove differences above it.
-- Parameter rank = -1: only this rank; -1 for all.
-- Parameter step = -1: only this step; -1 for all.
WITH counted AS (
    SELECT
        rank,
        step,
        countIf(problem_present) AS problem_row_count,
        countIf(bench_present) AS bench_row_count,
        countIf(problem_present AND bench_present) AS paired_count,
        countIf(verdict = 'only_problem') AS only_problem_count,
        countIf(verdict = 'only_bench') AS only_bench_count,
        countIf(verdict = 'agrees') AS agrees_count,
        countIf(verdict = 'diverged') AS diverged_count,
        countIf(verdict = 'not_finite') AS not_finite_count,
        countIf(verdict = 'bits_differ') AS bits_differ_count,
        countIf(verdict = 'incomparable') AS incomparable_count,
        countIf(verdict = 'unmeasured') AS unmeasured_count,
        countIf(structure) AS structure_count,
        countIf(structure AND verdict = 'unmeasured') AS argument_count,
        countIf(not_finite_side = 'both' AND verdict != 'not_finite') AS same_not_finite_count,
        maxOrNullIf(error, verdict IN ('agrees', 'diverged') AND NOT isNaN(error)) AS greatest_error,
        countIf(differs) AS differing_count,
        argMinIf(site_id, seq, differs) AS first_site_id,
        minIf(seq, differs) AS first_seq
    FROM tap.verdicts(problem = {problem:String}, bench = {bench:String}, tolerance = {tolerance:Float64}, rank = {rank:Int64}, step = {step:Int64})
    GROUP BY
        rank,
        step
)
SELECT
    counted.rank AS rank,
    counted.step AS step,
    problem_row_count,
    bench_row_count,
    paired_count,
    only_problem_count,
    only_bench_count,
    agrees_count,
    diverged_count,
    not_finite_count,
    bits_differ_count,
    incomparable_count,
    unmeasured_count,
    structure_count,
    argument_count,
    same_not_finite_count,
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
