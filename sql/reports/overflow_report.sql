-- Question: which tensors hold NaN or infinity, and in which op did they arise?
-- Grain: one row per rank, step, op, role, path that is not finite, by step, then position in execution order, then rank
-- Reads: tap.observations, tap.sites, tap.ops, tap.layouts
-- Empty when: every minimum, maximum and mean is finite and nothing not finite was counted
-- Parameter run: name of the run.
-- Parameter rank = -1: only this rank; -1 for all.
-- Parameter first_step = 0: first step.
-- Parameter last_step = -1: last step; -1 for all.
-- Parameter limit = 20: greatest number of rows.
-- An op is an origin when no input, keyword argument or parameter of it is not finite while an output is. The
-- gradient of a parameter is an output of the op that gives it; where that op is the gradient itself, as in dumps of
-- msProbe, it has no inputs to look at and is called gradient.
-- An infinite norm beside finite elements overflowed in the tensor's own dtype; it is not counted.
WITH
    bad AS (
        SELECT
            rank,
            step,
            micro_step,
            seq,
            site_id,
            layout_id,
            measured,
            value_min,
            value_max,
            value_mean,
            value_l2,
            nan_count,
            positive_infinity_count,
            negative_infinity_count
        FROM tap.observations(run = {run:String}, rank = {rank:Int64}, first_step = {first_step:Int64}, last_step = {last_step:Int64})
        WHERE NOT isFinite(value_min)
            OR NOT isFinite(value_max)
            OR NOT isFinite(value_mean)
            OR nan_count + positive_infinity_count + negative_infinity_count > 0
    ),
    placed AS (
        SELECT
            bad.rank AS rank,
            bad.step AS step,
            bad.micro_step AS micro_step,
            bad.seq AS seq,
            bad.site_id AS site_id,
            bad.layout_id AS layout_id,
            bad.measured AS measured,
            bad.value_min AS value_min,
            bad.value_max AS value_max,
            bad.value_mean AS value_mean,
            bad.value_l2 AS value_l2,
            bad.nan_count AS nan_count,
            bad.positive_infinity_count AS positive_infinity_count,
            bad.negative_infinity_count AS negative_infinity_count,
            site.op_id AS op_id,
            site.role AS role,
            site.path AS path,
            if(site.op_id = 0, bad.site_id, site.op_id) AS op_key,
            countIf(site.role NOT IN ('output', 'parameter_gradient')) OVER (PARTITION BY bad.rank, bad.step, bad.micro_step, op_key) AS bad_input_count,
            countIf(site.role IN ('output', 'parameter_gradient')) OVER (PARTITION BY bad.rank, bad.step, bad.micro_step, op_key) AS bad_output_count
        FROM bad
        LEFT ANY JOIN tap.sites AS site ON site.site_id = bad.site_id
    )
SELECT
    placed.rank AS rank,
    placed.step AS step,
    placed.seq AS position,
    multiIf(op.name != '', op.name, placed.op_id != 0, leftPad(lower(hex(placed.op_id)), 16, '0'), leftPad(lower(hex(placed.site_id)), 16, '0')) AS op,
    op.module_path AS module,
    placed.role AS role,
    placed.path AS path,
    multiIf(
        placed.op_id = 0, 'unknown',
        op.phase = 'gradient', 'gradient',
        bad_input_count > 0 AND bad_output_count > 0, 'passed on',
        bad_input_count > 0, 'input only',
        match(op.class_or_api, '^(empty|new_empty|fill|full|masked_fill)'), 'known exception',
        'origin') AS verdict,
    layout.dtype AS dtype,
    layout.shape AS shape,
    if(bitTest(placed.measured, 0), toNullable(placed.value_min), NULL) AS value_min,
    if(bitTest(placed.measured, 1), toNullable(placed.value_max), NULL) AS value_max,
    if(bitTest(placed.measured, 2), toNullable(placed.value_mean), NULL) AS value_mean,
    if(bitTest(placed.measured, 4), toNullable(placed.value_l2), NULL) AS value_l2,
    if(bitTest(placed.measured, 6), toNullable(placed.nan_count), NULL) AS nan_count,
    if(bitTest(placed.measured, 7), toNullable(placed.positive_infinity_count), NULL) AS positive_infinity_count,
    if(bitTest(placed.measured, 8), toNullable(placed.negative_infinity_count), NULL) AS negative_infinity_count
FROM placed
LEFT ANY JOIN tap.ops AS op ON op.op_id = placed.op_id
LEFT ANY JOIN tap.layouts AS layout ON layout.layout_id = placed.layout_id
ORDER BY
    step,
    position,
    rank,
    placed.micro_step,
    placed.site_id
LIMIT {limit:UInt64}
