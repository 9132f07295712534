-- Question: how does one statistic of a run move over layers and steps, as a picture of so many columns?
-- Grain: one row per layer, column of the picture that has tensors; layers by number, what is outside of them first, then by step
-- Reads: tap.step_aggregates, tap.site_places
-- Empty when: the run has no tensors of that role and phase at those steps
-- Parameter run: name of the run.
-- Parameter statistic = l2: l2, rms, mean, min, max, nan_count, infinity_count or not_finite_count.
-- Parameter role = all: input, kwarg, output, parameter, parameter_gradient, or all.
-- Parameter phase = all: forward, backward, recompute, gradient, optimizer, none, or all.
-- Parameter first_step = 0: first step.
-- Parameter last_step = -1: last step; -1 for all.
-- Parameter width = 1000: greatest number of columns.
-- A column stands for step_count steps from the step on. The value is over all tensors there, of all ranks: min and max are
-- extremes, counts are sums (not_finite_count of tensors, the others of elements), and l2 is the root of the mean square of
-- what one step has, so that it does not grow with what a column stands for. Tensors that are not finite are left out of it
-- and counted; it is nan where no other was measured, and null where none was. A layer of -1 is outside of the layers.
WITH
    (
        SELECT throwIf(
            {statistic:String} NOT IN ('l2', 'rms', 'mean', 'min', 'max', 'nan_count', 'infinity_count', 'not_finite_count'),
            'there is no such statistic; there are: l2, rms, mean, min, max, nan_count, infinity_count, not_finite_count')
    ) + (
        SELECT throwIf({width:UInt64} = 0, 'a picture has a width of 1 at least')
    ) AS fault_count,
    places AS (
        SELECT
            site_id,
            layer_index,
            module_path
        FROM tap.site_places(run = {run:String})
        WHERE ({role:String} = 'all' OR role = {role:String})
            AND ({phase:String} = 'all' OR phase = {phase:String})
    ),
    -- As arrays, since a look into them is cheaper than a join.
    (
        SELECT (groupArray(site_id), groupArray(layer_index))
        FROM places
    ) AS layer_of_site,
    (
        SELECT (min(step), max(step))
        FROM tap.step_aggregates(run = {run:String}, first_step = {first_step:Int64}, last_step = {last_step:Int64})
    ) AS reach,
    toUInt32(greatest(1, intDiv(reach.2 - reach.1 + {width:UInt64}, {width:UInt64}))) AS steps_of_column,
    pixels AS (
        SELECT
            transform(site_id, layer_of_site.1, layer_of_site.2, toInt32(-1)) AS layer,
            intDiv(step - reach.1, steps_of_column) AS column_index,
            uniqExact(step) AS cell_count,
            sum(s.row_count) AS row_count,
            sum(s.not_finite_row_count) AS not_finite_row_count,
            ifNull(minOrNullIf(s.value_min, NOT isNaN(s.value_min)), if(count(s.value_min) > 0, nan, NULL)) AS value_min,
            ifNull(maxOrNullIf(s.value_max, NOT isNaN(s.value_max)), if(count(s.value_max) > 0, nan, NULL)) AS value_max,
            ifNull(sumOrNullIf(s.square_sum, NOT isNaN(s.square_sum)), if(count(s.square_sum) > 0, nan, NULL)) AS square_sum,
            sum(s.square_element_count) AS square_element_count,
            ifNull(sumOrNullIf(s.value_sum, NOT isNaN(s.value_sum)), if(count(s.value_sum) > 0, nan, NULL)) AS value_sum,
            sum(s.value_element_count) AS value_element_count,
            sumOrNull(s.nan_count) AS nan_count,
            sumOrNull(s.infinity_count) AS infinity_count
        FROM tap.step_aggregates(run = {run:String}, first_step = {first_step:Int64}, last_step = {last_step:Int64}) AS s
        WHERE ({role:String} = 'all' AND {phase:String} = 'all') OR site_id IN (
            SELECT site_id
            FROM places
        )
        GROUP BY
            layer,
            column_index
    ),
    -- As layers are called in verdicts: a module's path up to the first part that ends with a number.
    names AS (
        SELECT
            layer_index,
            min(extract(module_path, '^((?:(?:[^.]*[^.0-9])?\\.)*[^.]*[0-9])(?:\\.|$)')) AS name
        FROM places
        WHERE layer_index >= 0 AND module_path != ''
        GROUP BY layer_index
    )
SELECT
    pixels.layer AS layer_index,
    multiIf(pixels.layer < 0, '', names.name != '', names.name, concat('layers.', toString(pixels.layer))) AS layer,
    toUInt32(reach.1 + pixels.column_index * steps_of_column) AS step,
    steps_of_column AS step_count,
    coalesce(
        if({statistic:String} = 'l2', sqrt(square_sum / cell_count), NULL),
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
LEFT ANY JOIN names ON names.layer_index = pixels.layer
WHERE fault_count = 0
ORDER BY
    layer_index,
    step
