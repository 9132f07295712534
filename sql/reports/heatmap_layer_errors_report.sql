-- Question: how far do the runs lie apart over layers and steps, as a picture of so many columns?
-- Grain: one row per layer, column of the picture that was measured on both sides; layers by number, what is outside of them first, then by step
-- Reads: tap.wanted_comparison, tap.layer_errors
-- Empty when: nothing was measured on both sides, or nothing was judged
-- Parameter problem: name of the run under suspicion.
-- Parameter bench: name of the run it is held against.
-- Parameter comparison = '': id of the comparison, of several; empty for the one that was asked for last.
-- Parameter direction = all: forward, backward, or all.
-- Parameter rank = -1: only this rank of the problem; -1 for all.
-- Parameter first_step = 0: first step of the problem.
-- Parameter last_step = -1: last step of the problem; -1 for all.
-- Parameter width = 1000: greatest number of columns.
-- A column stands for step_count steps from the step on. The value is the greatest finite error there; null where none is
-- known. A layer of -1 is outside of the layers.
WITH
    (
        SELECT throwIf({direction:String} NOT IN ('all', 'forward', 'backward'), 'there is no such direction; there are: all, forward, backward')
    ) + (
        SELECT throwIf({width:UInt64} = 0, 'a picture has a width of 1 at least')
    ) AS fault_count,
    (
        SELECT comparison_id
        FROM tap.wanted_comparison(problem = {problem:String}, bench = {bench:String}, comparison = {comparison:String})
    ) AS wanted_id,
    measured AS (
        SELECT
            layer_index,
            path,
            step,
            paired_count,
            differing_count,
            not_finite_count,
            greatest_error
        FROM tap.layer_errors
        WHERE comparison_id = wanted_id
            AND ({direction:String} = 'all' OR direction = {direction:String})
            AND ({rank:Int64} = -1 OR rank = {rank:Int64})
            AND step >= {first_step:Int64}
            AND ({last_step:Int64} = -1 OR step <= {last_step:Int64})
    ),
    (
        SELECT (min(step), max(step))
        FROM measured
    ) AS reach,
    toUInt32(greatest(1, intDiv(reach.2 - reach.1 + {width:UInt64}, {width:UInt64}))) AS steps_of_column,
    pixels AS (
        SELECT
            layer_index,
            intDiv(m.step - reach.1, steps_of_column) AS column_index,
            max(m.path) AS path,
            max(m.greatest_error) AS value,
            sum(m.paired_count) AS paired_count,
            sum(m.differing_count) AS differing_count,
            sum(m.not_finite_count) AS not_finite_count
        FROM measured AS m
        WHERE fault_count = 0
        GROUP BY
            layer_index,
            column_index
    )
SELECT
    layer_index,
    multiIf(layer_index < 0, '', path != '', path, concat('layers.', toString(layer_index))) AS layer,
    toUInt32(reach.1 + column_index * steps_of_column) AS step,
    steps_of_column AS step_count,
    value,
    paired_count,
    differing_count,
    not_finite_count
FROM pixels
ORDER BY
    layer_index,
    step
