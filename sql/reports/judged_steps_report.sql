-- Question: what came of each rank and step, and what differs first in it?
-- Grain: one row per rank, step of the problem; what only the bench has counts where its partner would be
-- Reads: tap.verdicts, tap.sites, tap.ops
-- Empty when: neither run has tensors at those ranks and steps
-- Shown: rank, step, paired_count, only_problem_count, only_bench_count, unknown_count, differing_count, op, verdict, error
-- Parameter problem: name of the run under suspicion.
-- Parameter bench: name of the run it is held against.
-- Parameter benches = []: further bench runs, whose spread is tolerated.
-- Parameter tolerance = -1: greatest relative error that is tolerated; -1: by dtype and depth.
-- Parameter tolerances = []: such by pattern of op and of dtype.
-- Parameter rank = -1: only this rank of the problem; -1 for all.
-- Parameter first_step = 0: first step of the problem.
-- Parameter last_step = -1: last step of the problem; -1 for all.
-- Parameter step_offset = 0: what to add to a step of the problem for that of the bench.
WITH judged AS (
    SELECT
        rank,
        step,
        countIf(v.verdict NOT IN ('unpaired', 'unknown')) AS paired_count,
        countIf(v.verdict IN ('unpaired') AND v.problem_present) AS only_problem_count,
        countIf(v.verdict IN ('unpaired') AND v.bench_present) AS only_bench_count,
        countIf(v.verdict = 'unknown') AS unknown_count,
        countIf(v.verdict IN ('unknown') AND NOT (v.problem_present AND v.bench_present)) AS alone_unknown_count,
        countIf(v.problem_present AND v.bench_present AND v.evidence NOT IN ('none', 'literal')) AS measured_count,
        countIf(v.verdict IN ('not_finite') AND NOT v.differs) AS same_not_finite_count,
        countIf(v.reason = 'bits differ') AS bits_differ_count,
        countIf(v.differs) AS differing_count,
        minIf(v.seq, v.differs) AS seq,
        argMinIf(
            (v.site_id, v.bench_site_id, v.problem_present, toString(v.verdict), toString(v.evidence), v.error, v.tolerance, toString(v.side), v.reason),
            (v.seq, v.micro_step, v.site_id), v.differs) AS first_row
    FROM tap.verdicts(problem = {problem:String}, bench = {bench:String}, benches = {benches:Array(String)}, tolerance = {tolerance:Float64}, tolerances = {tolerances:Array(Tuple(String, String, Float64))}, rank = {rank:Int64}, first_step = {first_step:Int64}, last_step = {last_step:Int64}, step_offset = {step_offset:Int64}) AS v
    GROUP BY
        rank,
        step
)
SELECT
    judged.rank AS rank,
    judged.step AS step,
    paired_count,
    only_problem_count,
    only_bench_count,
    unknown_count,
    alone_unknown_count,
    measured_count,
    same_not_finite_count,
    bits_differ_count,
    differing_count,
    judged.seq AS seq,
    multiIf(
        differing_count = 0, '',
        op.name != '', op.name,
        leftPad(lower(hex(site.op_id)), 16, '0')) AS op,
    op.module_path AS module,
    site.role AS role,
    site.path AS path,
    tupleElement(judged.first_row, 4) AS verdict,
    tupleElement(judged.first_row, 5) AS evidence,
    if(differing_count = 0 OR isNaN(tupleElement(judged.first_row, 6)), NULL, toNullable(tupleElement(judged.first_row, 6))) AS error,
    if(differing_count = 0 OR isNaN(tupleElement(judged.first_row, 7)), NULL, toNullable(tupleElement(judged.first_row, 7))) AS tolerance,
    tupleElement(judged.first_row, 8) AS side,
    tupleElement(judged.first_row, 9) AS reason
FROM judged
LEFT ANY JOIN tap.sites AS site ON site.site_id = if(tupleElement(judged.first_row, 3), tupleElement(judged.first_row, 1), tupleElement(judged.first_row, 2))
LEFT ANY JOIN tap.ops AS op ON op.op_id = site.op_id
ORDER BY
    step,
    rank
