-- Question: what did one op take and give in both runs, and how was each of it judged?
-- Grain: one row per micro step, tensor or other argument of the op or its partner, inputs first, then parameters, then outputs
-- Reads: tap.verdicts, tap.sites, tap.ops, tap.layouts, tap.steps, tap.alignments, tap.rank_pairs
-- Empty when: neither run has the op at that rank and step
-- Shown: role, path, verdict, evidence, error, tolerance, problem_dtype, problem_shape, problem_l2, bench_l2
-- Parameter problem: name of the run under suspicion.
-- Parameter bench: name of the run it is held against.
-- Parameter op: full name of the op, as the problem calls it; one that only the bench has, as that does.
-- Parameter rank = 0: rank of the problem.
-- Parameter step = 0: step of the problem.
-- Parameter step_offset = 0: the bench's step is the problem's plus this.
-- Parameter benches = []: further bench runs, whose spread is tolerated.
-- Parameter tolerance = -1: greatest relative error that is tolerated; -1: by dtype and depth.
-- Parameter tolerances = []: such by pattern of op and of dtype.
WITH
    judged AS (
        SELECT
            v.bench_rank AS bench_rank,
            v.micro_step AS micro_step,
            v.seq AS seq,
            v.problem_present AS problem_present,
            v.bench_present AS bench_present,
            v.problem_layout_id AS problem_layout_id,
            v.bench_layout_id AS bench_layout_id,
            v.problem_measured AS problem_measured,
            v.bench_measured AS bench_measured,
            v.problem_element_count AS problem_element_count,
            v.bench_element_count AS bench_element_count,
            v.problem_min AS problem_min,
            v.bench_min AS bench_min,
            v.problem_max AS problem_max,
            v.bench_max AS bench_max,
            v.problem_mean AS problem_mean,
            v.bench_mean AS bench_mean,
            v.problem_l2 AS problem_l2,
            v.bench_l2 AS bench_l2,
            v.problem_not_finite_count AS problem_not_finite_count,
            v.bench_not_finite_count AS bench_not_finite_count,
            v.structure AS structure,
            v.error AS error,
            v.error_low AS error_low,
            v.error_high AS error_high,
            v.tolerance AS tolerance,
            v.evidence AS evidence,
            v.numeric AS numeric,
            v.verdict AS verdict,
            v.side AS side,
            v.reason AS reason,
            v.differs AS differs,
            if(v.problem_present, v.site_id, v.bench_site_id) AS own_site_id,
            if(v.problem_present, problem_site.op_id, 0) AS problem_op_id,
            if(v.bench_present, bench_site.op_id, 0) AS bench_op_id,
            xxh3(concat({op:String}, char(31))) AS wanted_op_id,
            countIf(problem_op_id = wanted_op_id) OVER () AS own_count,
            maxIf(bench_op_id, problem_op_id = wanted_op_id) OVER () AS partner_op_id
        FROM tap.verdicts(problem = {problem:String}, bench = {bench:String}, rank = {rank:Int64}, first_step = {step:Int64}, last_step = {step:Int64}, step_offset = {step_offset:Int64}, benches = {benches:Array(String)}, tolerance = {tolerance:Float64}, tolerances = {tolerances:Array(Tuple(String, String, Float64))}) AS v
        LEFT ANY JOIN tap.sites AS problem_site ON problem_site.site_id = v.site_id
        LEFT ANY JOIN tap.sites AS bench_site ON bench_site.site_id = v.bench_site_id
    ),
    -- A bench op of the same name may be another call's partner; what counts is the op that this one was paired with.
    chosen AS (
        SELECT
            bench_rank,
            micro_step,
            seq,
            problem_present,
            bench_present,
            problem_layout_id,
            bench_layout_id,
            problem_measured,
            bench_measured,
            problem_element_count,
            bench_element_count,
            problem_min,
            bench_min,
            problem_max,
            bench_max,
            problem_mean,
            bench_mean,
            problem_l2,
            bench_l2,
            problem_not_finite_count,
            bench_not_finite_count,
            structure,
            error,
            error_low,
            error_high,
            tolerance,
            evidence,
            numeric,
            verdict,
            side,
            reason,
            differs,
            own_site_id,
            if(own_count > 0, wanted_op_id, 0) AS problem_op_id,
            if(own_count > 0, partner_op_id, wanted_op_id) AS bench_op_id
        FROM judged
        WHERE judged.problem_op_id = wanted_op_id
            OR (partner_op_id != 0 AND NOT problem_present AND judged.bench_op_id = partner_op_id)
            OR (own_count = 0 AND judged.bench_op_id = wanted_op_id)
    ),
    pairing AS (
        SELECT
            problem_op_id,
            bench_op_id,
            alignments.reason AS pair_reason
        FROM tap.alignments
        WHERE problem_program_id IN (
            SELECT program_id
            FROM tap.steps
            WHERE run_id = xxh3(concat({problem:String}, char(31))) AND rank = {rank:Int64} AND step = {step:Int64}
        )
        AND bench_program_id IN (
            SELECT program_id
            FROM tap.steps
            WHERE run_id = xxh3(concat({bench:String}, char(31))) AND step = {step:Int64} + {step_offset:Int64} AND rank IN (
                SELECT bench_rank
                FROM tap.rank_pairs(problem = {problem:String}, bench = {bench:String})
                WHERE problem_rank = {rank:Int64}
            )
        )
    )
SELECT
    {rank:Int64} AS rank,
    chosen.bench_rank AS bench_rank,
    {step:Int64} AS step,
    chosen.micro_step AS micro_step,
    problem_op.name AS op,
    bench_op.name AS bench_op,
    multiIf(
        pairing.pair_reason != '', pairing.pair_reason,
        chosen.problem_op_id = 0, 'only_bench',
        chosen.bench_op_id = 0, 'only_problem',
        chosen.problem_op_id = chosen.bench_op_id, 'id',
        'other') AS paired_by,
    site.role AS role,
    site.path AS path,
    toString(chosen.verdict) AS verdict,
    toString(chosen.numeric) AS numeric,
    toString(chosen.evidence) AS evidence,
    if(isNaN(chosen.error), NULL, toNullable(chosen.error)) AS error,
    if(isNaN(chosen.error_low), NULL, toNullable(chosen.error_low)) AS error_low,
    if(isNaN(chosen.error_high), NULL, toNullable(chosen.error_high)) AS error_high,
    if(isNaN(chosen.tolerance), NULL, toNullable(chosen.tolerance)) AS tolerance,
    chosen.differs AS differs,
    chosen.structure AS structure,
    toString(chosen.side) AS side,
    chosen.reason AS reason,
    chosen.problem_present AS problem_present,
    chosen.bench_present AS bench_present,
    problem_layout.kind AS problem_kind,
    bench_layout.kind AS bench_kind,
    problem_layout.dtype AS problem_dtype,
    bench_layout.dtype AS bench_dtype,
    problem_layout.shape AS problem_shape,
    bench_layout.shape AS bench_shape,
    problem_layout.literal AS problem_literal,
    bench_layout.literal AS bench_literal,
    problem_layout.requires_grad AS problem_requires_grad,
    bench_layout.requires_grad AS bench_requires_grad,
    chosen.problem_element_count AS problem_element_count,
    chosen.bench_element_count AS bench_element_count,
    if(bitTest(chosen.problem_measured, 0), toNullable(chosen.problem_min), NULL) AS problem_min,
    if(bitTest(chosen.bench_measured, 0), toNullable(chosen.bench_min), NULL) AS bench_min,
    if(bitTest(chosen.problem_measured, 1), toNullable(chosen.problem_max), NULL) AS problem_max,
    if(bitTest(chosen.bench_measured, 1), toNullable(chosen.bench_max), NULL) AS bench_max,
    if(bitTest(chosen.problem_measured, 2), toNullable(chosen.problem_mean), NULL) AS problem_mean,
    if(bitTest(chosen.bench_measured, 2), toNullable(chosen.bench_mean), NULL) AS bench_mean,
    if(bitTest(chosen.problem_measured, 4), toNullable(chosen.problem_l2), NULL) AS problem_l2,
    if(bitTest(chosen.bench_measured, 4), toNullable(chosen.bench_l2), NULL) AS bench_l2,
    chosen.problem_not_finite_count AS problem_not_finite_count,
    chosen.bench_not_finite_count AS bench_not_finite_count
FROM chosen
LEFT ANY JOIN tap.sites AS site ON site.site_id = chosen.own_site_id
LEFT ANY JOIN tap.ops AS problem_op ON problem_op.op_id = chosen.problem_op_id
LEFT ANY JOIN tap.ops AS bench_op ON bench_op.op_id = chosen.bench_op_id
LEFT ANY JOIN tap.layouts AS problem_layout ON problem_layout.layout_id = chosen.problem_layout_id
LEFT ANY JOIN tap.layouts AS bench_layout ON bench_layout.layout_id = chosen.bench_layout_id
LEFT ANY JOIN pairing ON pairing.problem_op_id = chosen.problem_op_id AND pairing.bench_op_id = chosen.bench_op_id
ORDER BY
    micro_step,
    indexOf(['output', 'kwarg', 'input', 'parameter', 'parameter_gradient'], role) = 1,
    chosen.problem_present DESC,
    chosen.seq,
    role,
    path
