-- Question: how does one statistic of a run move from step to step, layer by layer or rank by rank?
-- Grain: one row per group, step
-- Reads: tap.step_aggregates, tap.rank_aggregates, tap.site_places
-- Empty when: the run has no tensors of that role and phase at those steps
-- Parameter run: name of the run.
-- Parameter statistic = l2: l2, rms, mean, min, max, nan_count, infinity_count, not_finite_count, row_count or element_count.
-- Parameter by = layer: layer, module, op, site or rank.
-- Parameter role = all: input, kwarg, output, parameter, parameter_gradient, or all.
-- Parameter phase = all: forward, backward, recompute, gradient, optimizer, none, or all.
-- Parameter first_step = 0: first step.
-- Parameter last_step = -1: last step; -1 for all.
-- A value is over all tensors of its group, as if they were one: l2 is the root of the sum of squares. Tensors that are
-- not finite are left out of it and counted; it is nan where no other was measured, and null where none was.
-- not_finite_count and row_count count tensors; nan_count and infinity_count elements, where the source counts them.
WITH
    (
        SELECT throwIf(
            {statistic:String} NOT IN ('l2', 'rms', 'mean', 'min', 'max', 'nan_count', 'infinity_count', 'not_finite_count', 'row_count', 'element_count'),
            'there is no such statistic; there are: l2, rms, mean, min, max, nan_count, infinity_count, not_finite_count, row_count, element_count')
    ) + (
        SELECT throwIf(
            {by:String} NOT IN ('layer', 'module', 'op', 'site', 'rank'),
            'by what is not known; there are: layer, module, op, site, rank')
    ) + (
        SELECT throwIf(
            {role:String} NOT IN ('all', 'input', 'kwarg', 'output', 'parameter', 'parameter_gradient'),
            'there is no such role; there are: all, input, kwarg, output, parameter, parameter_gradient')
    ) + (
        SELECT throwIf(
            {phase:String} NOT IN ('all', 'forward', 'backward', 'recompute', 'gradient', 'optimizer', 'none'),
            'there is no such phase; there are: all, forward, backward, recompute, gradient, optimizer, none')
    ) AS fault_count,
    -- A group is a number until the end: 0 is what no definition names; layers begin at 2, and 1 is outside of them.
    places AS (
        SELECT
            site_id,
            if({by:String} = 'layer', toUInt64(layer_index + 2),
                if({by:String} = 'module', xxh3(module_path),
                    if({by:String} = 'op', op_id, site_id))) AS group_id,
            if({by:String} = 'layer', if(layer_index < 0, 'outside', toString(layer_index)),
                if({by:String} = 'module', module_path,
                    if({by:String} = 'op', op, concat(op, '.', role, '.', path)))) AS group_name
        FROM tap.site_places(run = {run:String})
        WHERE ({role:String} = 'all' OR role = {role:String})
            AND ({phase:String} = 'all' OR phase = {phase:String})
    ),
    -- As arrays, since a look into them is cheaper than a join.
    (
        SELECT (groupArray(site_id), groupArray(group_id), groupArray(group_name))
        FROM places
        WHERE {by:String} != 'rank'
    ) AS group_of_site,
    aggregates AS (
        SELECT
            transform(site_id, group_of_site.1, group_of_site.2, toUInt64(0)) AS group_id,
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
        FROM tap.step_aggregates(run = {run:String}, first_step = {first_step:Int64}, last_step = {last_step:Int64})
        WHERE {by:String} != 'rank'
            AND (({role:String} = 'all' AND {phase:String} = 'all') OR site_id IN (
                SELECT site_id
                FROM places
            ))
        UNION ALL
        SELECT
            toUInt64(rank) AS group_id,
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
        FROM tap.rank_aggregates(
            run = {run:String}, role = {role:String}, phase = {phase:String}, first_step = {first_step:Int64}, last_step = {last_step:Int64})
        WHERE {by:String} = 'rank'
    ),
    -- Only what the statistic needs is read: an if() on a parameter is decided beforehand, one within another is not.
    -- The least is the greatest of the opposites.
    parts AS (
        SELECT
            group_id,
            step,
            row_count,
            not_finite_row_count,
            coalesce(
                if({statistic:String} = 'min', -value_min, NULL),
                if({statistic:String} = 'max', value_max, NULL),
                if({statistic:String} IN ('l2', 'rms'), square_sum, NULL),
                if({statistic:String} = 'mean', value_sum, NULL),
                if({statistic:String} = 'nan_count', toFloat64(nan_count), NULL),
                if({statistic:String} = 'infinity_count', toFloat64(infinity_count), NULL),
                if({statistic:String} = 'not_finite_count', toFloat64(not_finite_row_count), NULL),
                if({statistic:String} = 'row_count', toFloat64(row_count), NULL),
                if({statistic:String} = 'element_count', toFloat64(element_count), NULL)) AS part,
            if({statistic:String} = 'rms', square_element_count, 0) + if({statistic:String} = 'mean', value_element_count, 0) AS part_element_count
        FROM aggregates
    ),
    folded AS (
        SELECT
            group_id,
            step,
            sum(parts.row_count) AS row_count,
            sum(parts.not_finite_row_count) AS not_finite_row_count,
            ifNull(
                if({statistic:String} IN ('min', 'max'), maxOrNullIf(part, NOT isNaN(part)), sumOrNullIf(part, NOT isNaN(part))),
                if(count(part) > 0, nan, NULL)) AS total,
            if(isNaN(total), 1, nullIf(sum(part_element_count), 0)) AS divisor
        FROM parts
        GROUP BY
            group_id,
            step
    )
SELECT
    if({by:String} = 'layer' AND group_id >= 2, toInt64(group_id - 2), if({by:String} = 'rank', toInt64(group_id), -1)) AS group_index,
    if({by:String} = 'rank', toString(group_id), coalesce(nullIf(transform(group_id, group_of_site.2, group_of_site.3, ''), ''), if(group_id = 0, 'undefined', 'outside'))) AS group_name,
    step,
    if({statistic:String} = 'l2', sqrt(total),
        if({statistic:String} = 'rms', sqrt(total / divisor),
            if({statistic:String} = 'mean', total / divisor,
                if({statistic:String} = 'min', -total, total)))) AS value,
    row_count,
    not_finite_row_count
FROM folded
WHERE fault_count = 0
