-- Question: how far do the runs lie apart, layer by layer, at the first step that differs?
-- Grain: one row per direction, layer of the model; what is outside of layers comes first in the forward pass and last in the backward pass, with an empty layer, and optimizer after all
-- Reads: tap.wanted_comparison, tap.judged_steps, tap.kept_judgings, tap_store.layer_error
-- Empty when: nothing was measured on both sides, or nothing was judged
-- Parameter problem: name of the run under suspicion.
-- Parameter bench: name of the run it is held against.
-- Parameter comparison = '': id of the comparison, of several; empty for the one that was asked for last.
-- Parameter rank = -1: only this rank of the problem; -1 for all.
-- Parameter first_step = 0: first step of the problem.
-- Parameter last_step = -1: last step of the problem; -1 for all.
-- Where no step differs, it is the first one. What was saved by name, of a layer and in no module, is of the layer whose path has that number, or, where there is not
-- one, of layers and the number. The greatest error is of finite ones; null where NaN or infinity differs and no finite error is above 0.
WITH
    (
        SELECT comparison_id
        FROM tap.wanted_comparison(problem = {problem:String}, bench = {bench:String}, comparison = {comparison:String})
    ) AS wanted_id
SELECT
    b.step AS step,
    direction,
    layer_index,
    multiIf(path != '', path, layer_index < 0, '', length(known_paths) = 1, known_paths[1], concat('layers.', toString(layer_index))) AS layer,
    sum(b.paired_sum) AS paired_count,
    sum(b.differing_sum) AS differing_count,
    sum(b.not_finite_sum) AS not_finite_count,
    if(sum(b.not_finite_sum) > 0 AND max(b.greatest) = 0, NULL, max(b.greatest)) AS greatest_error
FROM
(
    SELECT
        step,
        direction,
        layer_index,
        path,
        groupUniqArrayIf(path, path != '') OVER (PARTITION BY layer_index) AS known_paths,
        sum(paired_count) AS paired_sum,
        sum(differing_count) AS differing_sum,
        sum(not_finite_count) AS not_finite_sum,
        max(ifNull(greatest_error, 0)) AS greatest
    FROM tap_store.layer_error
    WHERE comparison_id = wanted_id
        AND ({rank:Int64} = -1 OR rank = {rank:Int64})
        AND step >= {first_step:Int64}
        AND ({last_step:Int64} = -1 OR step <= {last_step:Int64})
        AND (rank, step, epoch) IN (
            SELECT
                rank,
                step,
                epoch
            FROM tap.kept_judgings
            WHERE comparison_id = wanted_id
        )
        AND step IN (
            SELECT if(countIf(differing_count > 0) > 0, minIf(step, differing_count > 0), min(step))
            FROM tap.judged_steps
            WHERE comparison_id = wanted_id
                AND ({rank:Int64} = -1 OR rank = {rank:Int64})
                AND step >= {first_step:Int64}
                AND ({last_step:Int64} = -1 OR step <= {last_step:Int64})
        )
    GROUP BY
        step,
        direction,
        layer_index,
        path
) AS b
GROUP BY
    step,
    direction,
    layer_index,
    layer
ORDER BY
    direction DESC,
    if(direction = 'forward', layer_index, -layer_index),
    layer
