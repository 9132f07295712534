-- Question: which ops ran before one op, how far were they off, and which of them gave what it took?
-- Grain: one row per op before it, the nearest first, and before those one row of the op itself
-- Reads: tap.verdicts, tap.sites, tap.ops
-- Empty when: the problem run does not have the op at that rank and step
-- Parameter problem: name of the run under suspicion.
-- Parameter bench: name of the run it is held against.
-- Parameter op: full name of the op, as the problem calls it.
-- Parameter rank = 0: rank of the problem.
-- Parameter step = 0: step of the problem.
-- Parameter step_offset = 0: the bench's step is the problem's plus this.
-- Parameter benches = []: further bench runs, whose spread is tolerated.
-- Parameter tolerance = -1: greatest relative error that is tolerated; -1: by dtype and depth.
-- Parameter tolerances = []: such by pattern of op and of dtype.
-- Parameter limit = 6: greatest number of rows.
-- Who gave an input is not recorded. What has the very same statistics and was given before is taken for it; gives names
-- those inputs, and stays empty where nothing was measured.
WITH
    judged AS (
        SELECT
            v.seq AS seq,
            v.micro_step AS micro_step,
            v.error AS error,
            v.tolerance AS tolerance,
            v.verdict AS verdict,
            v.differs AS differs,
            v.evidence AS evidence,
            site.op_id AS op_id,
            concat(site.role, ' ', site.path) AS place,
            site.role IN ('output', 'parameter_gradient') AS given,
            (v.problem_element_count, v.problem_min, v.problem_max, v.problem_mean, v.problem_l2) AS numbers,
            bitAnd(v.problem_measured, 23) != 0 AND v.problem_element_count > 1 AS telling,
            site.op_id = xxh3(concat({op:String}, char(31))) AS own,
            minIf(seq, own) OVER () AS own_seq,
            groupArrayIf((numbers, place), own AND NOT given AND telling) OVER () AS taken
        FROM tap.verdicts(problem = {problem:String}, bench = {bench:String}, rank = {rank:Int64}, first_step = {step:Int64}, last_step = {step:Int64}, step_offset = {step_offset:Int64}, benches = {benches:Array(String)}, tolerance = {tolerance:Float64}, tolerances = {tolerances:Array(Tuple(String, String, Float64))}) AS v
        INNER JOIN tap.sites AS site ON site.site_id = v.site_id
        WHERE v.problem_present
    ),
    ops_before AS (
        SELECT
            op_id,
            min(judged.seq) AS first_seq,
            countIf(NOT given) AS input_count,
            countIf(given) AS output_count,
            countIf(judged.differs) AS differing_count,
            argMinIf(toString(judged.verdict), judged.seq, judged.differs) AS first_verdict,
            argMinIf(toString(judged.evidence), judged.seq, judged.differs) AS first_evidence,
            maxIf(judged.error, NOT given AND NOT isNaN(judged.error)) AS greatest_in,
            maxIf(judged.error, given AND NOT isNaN(judged.error)) AS greatest_out,
            countIf(NOT given AND NOT isNaN(judged.error)) AS in_count,
            countIf(given AND NOT isNaN(judged.error)) AS out_count,
            if(any(own), [], arraySort(arrayDistinct(groupArrayArrayIf(
                arrayMap(pair -> pair.2, arrayFilter(pair -> pair.1 = numbers, taken)), given AND telling)))) AS gives
        FROM judged
        WHERE own OR judged.seq < own_seq
        GROUP BY op_id
    )
SELECT
    op.name AS op,
    if(op.module_path != '', op.module_path, '') AS module,
    ops_before.first_seq AS seq,
    if(in_count > 0, toNullable(greatest_in), NULL) AS error_in,
    if(out_count > 0, toNullable(greatest_out), NULL) AS error_out,
    input_count,
    output_count,
    differing_count,
    if(differing_count > 0, first_verdict, '') AS verdict,
    if(differing_count > 0, first_evidence, '') AS evidence,
    gives
FROM ops_before
LEFT ANY JOIN tap.ops AS op ON op.op_id = ops_before.op_id
ORDER BY
    seq DESC,
    op
LIMIT {limit:UInt64}
