-- Question: what did each rank of a run see at each step, added up over its sites?
-- Grain: one row per rank, step, epoch that was not replaced; normally one epoch, otherwise rows to be added up
-- Reads: tap_store.tensor, tap_store.site, tap_store.op, tap.superseded_steps
-- Empty when: the run has no tensors at those steps
-- Parameter run: name of the run.
-- Parameter role = all: only sites of this role; all for every site.
-- Parameter phase = all: only ops of this phase; all for every op.
-- Parameter first_step = 0: first step.
-- Parameter last_step = -1: last step; -1 for all.
-- Over all sites the projection steps of tensor answers: expressions and keys must stay those of its definition.
-- Null is: nobody measured it; nan: it was measured, but was never finite (for value_min and value_max: never a number).
SELECT
    rank,
    step,
    count() AS row_count,
    countIf(NOT isFinite(tap_store.tensor.value_min) OR NOT isFinite(tap_store.tensor.value_max) OR NOT isFinite(value_mean) OR NOT isFinite(value_l2)
        OR tap_store.tensor.nan_count + positive_infinity_count + negative_infinity_count > 0) AS not_finite_row_count,
    sum(tap_store.tensor.element_count) AS element_count,
    ifNull(
        minOrNullIf(tap_store.tensor.value_min, bitTest(measured, 0) AND NOT isNaN(tap_store.tensor.value_min)),
        if(countIf(bitTest(measured, 0)) > 0, nan, NULL)) AS value_min,
    ifNull(
        maxOrNullIf(tap_store.tensor.value_max, bitTest(measured, 1) AND NOT isNaN(tap_store.tensor.value_max)),
        if(countIf(bitTest(measured, 1)) > 0, nan, NULL)) AS value_max,
    ifNull(
        sumOrNullIf(value_l2 * value_l2, bitTest(measured, 4) AND isFinite(value_l2)),
        if(countIf(bitTest(measured, 4)) > 0, nan, NULL)) AS square_sum,
    sumIf(tap_store.tensor.element_count, bitTest(measured, 4) AND isFinite(value_l2)) AS square_element_count,
    ifNull(
        sumOrNullIf(value_mean * tap_store.tensor.element_count, bitTest(measured, 2) AND isFinite(value_mean)),
        if(countIf(bitTest(measured, 2)) > 0, nan, NULL)) AS value_sum,
    sumIf(tap_store.tensor.element_count, bitTest(measured, 2) AND isFinite(value_mean)) AS value_element_count,
    sumOrNullIf(tap_store.tensor.nan_count, bitTest(measured, 6)) AS nan_count,
    sumOrNullIf(positive_infinity_count + negative_infinity_count, bitTest(measured, 7) OR bitTest(measured, 8)) AS infinity_count
FROM tap_store.tensor
WHERE run_id = xxh3(concat({run:String}, char(31)))
    AND step >= {first_step:Int64}
    AND ({last_step:Int64} = -1 OR step <= {last_step:Int64})
    AND (({role:String} = 'all' AND {phase:String} = 'all') OR site_id IN (
        SELECT site_id
        FROM tap_store.site
        WHERE ({role:String} = 'all' OR role = {role:String})
            AND ({phase:String} = 'all' OR op_id IN (
                SELECT op_id
                FROM tap_store.op
                WHERE phase = {phase:String}
            ))
    ))
    AND (rank, step, epoch) NOT IN (
        SELECT
            rank,
            step,
            epoch
        FROM tap.superseded_steps
        WHERE run_id = xxh3(concat({run:String}, char(31)))
    )
GROUP BY
    run_id,
    rank,
    step,
    epoch
