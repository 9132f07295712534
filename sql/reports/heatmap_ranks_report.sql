-- Question: how does one statistic of a run move over ranks and steps, as a picture of so many rows and columns?
-- Grain: one row per row, column of the picture that has tensors; ranks in the order asked for, then by step
-- Reads: tap_store.tensor, tap_store.step, tap_store.site, tap_store.op, tap.ordered_ranks, tap.superseded_steps
-- Empty when: the run has no tensors of that role and phase at those ranks and steps
-- Parameter run: name of the run.
-- Parameter statistic = l2: l2, rms, mean, min, max, nan_count, infinity_count or not_finite_count.
-- Parameter order = rank: ranks by number (rank), or by their coordinate in groups first: tp, pp or dp.
-- Parameter role = all: input, kwarg, output, parameter, parameter_gradient, or all.
-- Parameter phase = all: forward, backward, recompute, gradient, optimizer, none, or all.
-- Parameter first_step = 0: first step.
-- Parameter last_step = -1: last step; -1 for all.
-- Parameter first_place = 0: first rank, as its place in the order.
-- Parameter last_place = -1: last rank, likewise; -1 for all.
-- Parameter width = 1000: greatest number of columns.
-- Parameter height = 500: greatest number of rows.
-- A row stands for rank_count ranks from the place on, of which rank is the first, and a column for step_count steps from
-- the step on. The value is over all tensors there: min and max are extremes, counts are sums (not_finite_count of
-- tensors, the others of elements), and l2 is the root of the mean square of what one rank has at one step, so that it
-- does not grow with what a row and a column stand for. Tensors that are not finite are left out of it and counted; it is
-- nan where no other was measured, and null where none was. Over all roles and phases the projections blocks and steps of tensor
-- answer: expressions and keys must stay those of their definitions. Blocks of ten steps are read where a column stands for ten
-- steps or more, the steps asked for are whole blocks, and no observation of the run was replaced: a column then begins at a
-- multiple of ten, and its number of steps is one.
WITH
    (
        SELECT throwIf(
            {statistic:String} NOT IN ('l2', 'rms', 'mean', 'min', 'max', 'nan_count', 'infinity_count', 'not_finite_count'),
            'there is no such statistic; there are: l2, rms, mean, min, max, nan_count, infinity_count, not_finite_count')
    ) + (
        SELECT throwIf({width:UInt64} = 0 OR {height:UInt64} = 0, 'a picture has a width and a height of 1 at least')
    ) + (
        SELECT throwIf({first_place:Int64} < 0 OR {last_place:Int64} < -1, 'a place is 0 or more; of the last, -1 is for all')
    ) AS fault_count,
    (
        SELECT arraySlice(
            groupArray(rank),
            {first_place:Int64} + 1,
            if({last_place:Int64} = -1, 4294967295, greatest(0, {last_place:Int64} - {first_place:Int64} + 1)))
        FROM (
            SELECT rank
            FROM tap.ordered_ranks(run = {run:String}, order = {order:String})
            ORDER BY place
        )
    ) AS ordered,
    (
        SELECT (greatest(min(first), {first_step:Int64}), if({last_step:Int64} = -1, max(last), least(max(last), {last_step:Int64})))
        FROM (
            SELECT
                toInt64(min(step)) AS first,
                toInt64(max(step)) AS last
            FROM tap_store.tensor
            WHERE run_id = xxh3(concat({run:String}, char(31)))
                AND intDiv(step, 10) >= intDiv({first_step:Int64}, 10)
                AND ({last_step:Int64} = -1 OR intDiv(step, 10) <= intDiv({last_step:Int64}, 10))
            GROUP BY
                run_id,
                intDiv(step, 10)
        )
    ) AS reach,
    (
        SELECT count()
        FROM tap.superseded_steps
        WHERE run_id = xxh3(concat({run:String}, char(31)))
    ) AS superseded_count,
    toUInt32(greatest(1, intDiv(length(ordered) + {height:UInt64} - 1, {height:UInt64}))) AS ranks_of_row,
    -- Steps are read one by one, or in blocks of ten where that shows the same.
    toUInt8(if(
        reach.2 - reach.1 >= 9 * toInt64({width:UInt64})
            AND {first_step:Int64} % 10 = 0
            AND ({last_step:Int64} = -1 OR {last_step:Int64} % 10 = 9)
            AND superseded_count = 0,
        10,
        1)) AS block,
    intDiv(reach.1, block) * block AS begin,
    toUInt32(block * greatest(1, intDiv(intDiv(reach.2 - begin + toInt64({width:UInt64}), toInt64({width:UInt64})) + block - 1, block))) AS steps_of_column,
    -- How many steps of ranks that have tensors lie below a row and column; one that has not ended counts alone.
    cells AS (
        SELECT
            intDiv(transform(rank, ordered, range(length(ordered)), 4294967295), ranks_of_row) AS row_index,
            intDiv(intDiv(step, block) - intDiv(begin, block), intDiv(steps_of_column, block)) AS column_index,
            countIf(tensor_count > 0) AS cell_count
        FROM tap_store.step
        WHERE {statistic:String} = 'l2'
            AND run_id = xxh3(concat({run:String}, char(31)))
            AND intDiv(step, block) >= intDiv({first_step:Int64}, block)
            AND ({last_step:Int64} = -1 OR intDiv(step, block) <= intDiv({last_step:Int64}, block))
            AND (({first_place:Int64} = 0 AND {last_place:Int64} = -1) OR rank IN (
                SELECT arrayJoin(ordered)
            ))
            AND (superseded_count = 0 OR (rank, step, epoch) NOT IN (
                SELECT
                    rank,
                    step,
                    epoch
                FROM tap.superseded_steps
                WHERE run_id = xxh3(concat({run:String}, char(31)))
            ))
        GROUP BY
            row_index,
            column_index
    ),
    pixels AS (
        SELECT
            intDiv(transform(rank, ordered, range(length(ordered)), 4294967295), ranks_of_row) AS row_index,
            intDiv(intDiv(step, block) - intDiv(begin, block), intDiv(steps_of_column, block)) AS column_index,
            count() AS row_count,
            countIf(NOT isFinite(tap_store.tensor.value_min) OR NOT isFinite(tap_store.tensor.value_max) OR NOT isFinite(value_mean) OR NOT isFinite(value_l2)
                OR tap_store.tensor.nan_count + positive_infinity_count + negative_infinity_count > 0) AS not_finite_row_count,
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
            AND intDiv(step, block) >= intDiv({first_step:Int64}, block)
            AND ({last_step:Int64} = -1 OR intDiv(step, block) <= intDiv({last_step:Int64}, block))
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
            AND (({first_place:Int64} = 0 AND {last_place:Int64} = -1) OR rank IN (
                SELECT arrayJoin(ordered)
            ))
            AND (superseded_count = 0 OR (rank, step, epoch) NOT IN (
                SELECT
                    rank,
                    step,
                    epoch
                FROM tap.superseded_steps
                WHERE run_id = xxh3(concat({run:String}, char(31)))
            ))
        GROUP BY
            run_id,
            row_index,
            column_index
    )
SELECT
    toUInt32({first_place:Int64} + pixels.row_index * ranks_of_row) AS place,
    ordered[pixels.row_index * ranks_of_row + 1] AS rank,
    ranks_of_row AS rank_count,
    toUInt32(begin + pixels.column_index * steps_of_column) AS step,
    steps_of_column AS step_count,
    coalesce(
        if({statistic:String} = 'l2', sqrt(square_sum / greatest(1, cells.cell_count)), NULL),
        if({statistic:String} = 'rms', sqrt(square_sum / if(isNaN(square_sum), 1, nullIf(square_element_count, 0))), NULL),
        if({statistic:String} = 'mean', value_sum / if(isNaN(value_sum), 1, nullIf(value_element_count, 0)), NULL),
        if({statistic:String} = 'min', value_min, NULL),
        if({statistic:String} = 'max', value_max, NULL),
        if({statistic:String} = 'nan_count', toFloat64(nan_count), NULL),
        if({statistic:String} = 'infinity_count', toFloat64(infinity_count), NULL),
        if({statistic:String} = 'not_finite_count', toFloat64(not_finite_row_count), NULL)) AS value,
    row_count,
    not_finite_row_count
FROM pixels
LEFT JOIN cells ON cells.row_index = pixels.row_index AND cells.column_index = pixels.column_index
WHERE fault_count = 0 AND pixels.row_index * ranks_of_row < length(ordered)
ORDER BY
    place,
    step
