-- Question: what did each tensor of each step of a run look like, over all ranks?
-- Grain: one row per site, step that trend keeps, and one per observation of the other steps: rows to be added up
-- Reads: tap_store.trend, tap_store.tensor, tap.trend_steps, tap.superseded_steps
-- Empty when: the run has no tensors at those steps
-- Parameter run: name of the run.
-- Parameter first_step = 0: first step.
-- Parameter last_step = -1: last step; -1 for all.
-- Null is: nobody measured it; nan: it was measured, but was never finite (for value_min and value_max: never a number).
WITH
    (
        SELECT count()
        FROM tap.trend_steps
        WHERE run_id = xxh3(concat({run:String}, char(31))) AND state != 'kept'
    ) AS other_count,
    (
        SELECT count()
        FROM tap.superseded_steps
        WHERE run_id = xxh3(concat({run:String}, char(31)))
    ) AS superseded_count
SELECT
    site_id,
    step,
    row_count,
    not_finite_row_count,
    element_count,
    value_min,
    value_max,
    square_sum,
    square_element_count,
    value_sum,
    value_element_count,
    nan_count,
    infinity_count
FROM tap_store.trend
WHERE run_id = xxh3(concat({run:String}, char(31)))
    AND step >= {first_step:Int64}
    AND ({last_step:Int64} = -1 OR step <= {last_step:Int64})
    AND (other_count = 0 OR step IN (
        SELECT step
        FROM tap.trend_steps
        WHERE run_id = xxh3(concat({run:String}, char(31))) AND state = 'kept'
    ))
UNION ALL
SELECT
    site_id,
    step,
    toUInt64(1) AS row_count,
    toUInt64(NOT isFinite(seen.value_min) OR NOT isFinite(seen.value_max) OR NOT isFinite(value_mean) OR NOT isFinite(value_l2)
        OR seen.nan_count + positive_infinity_count + negative_infinity_count > 0) AS not_finite_row_count,
    seen.element_count AS element_count,
    if(bitTest(measured, 0), toNullable(seen.value_min), NULL) AS value_min,
    if(bitTest(measured, 1), toNullable(seen.value_max), NULL) AS value_max,
    if(bitTest(measured, 4), toNullable(if(isFinite(value_l2), value_l2 * value_l2, nan)), NULL) AS square_sum,
    if(bitTest(measured, 4) AND isFinite(value_l2), seen.element_count, 0) AS square_element_count,
    if(bitTest(measured, 2), toNullable(if(isFinite(value_mean), value_mean * seen.element_count, nan)), NULL) AS value_sum,
    if(bitTest(measured, 2) AND isFinite(value_mean), seen.element_count, 0) AS value_element_count,
    if(bitTest(measured, 6), toNullable(seen.nan_count), NULL) AS nan_count,
    if(bitTest(measured, 7) OR bitTest(measured, 8), toNullable(positive_infinity_count + negative_infinity_count), NULL) AS infinity_count
FROM tap_store.tensor AS seen
WHERE run_id = xxh3(concat({run:String}, char(31)))
    AND other_count > 0
    AND step >= {first_step:Int64}
    AND ({last_step:Int64} = -1 OR step <= {last_step:Int64})
    AND step NOT IN (
        SELECT step
        FROM tap.trend_steps
        WHERE run_id = xxh3(concat({run:String}, char(31))) AND state = 'kept'
    )
    AND (superseded_count = 0 OR (rank, step, epoch) NOT IN (
        SELECT
            rank,
            step,
            epoch
        FROM tap.superseded_steps
        WHERE run_id = xxh3(concat({run:String}, char(31)))
    ))
