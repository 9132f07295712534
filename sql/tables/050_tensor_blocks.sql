-- Question: What do ten steps of a rank hold, for pictures in which a column stands for ten steps or more?
-- Grain: as tap_store.tensor and tap_store.step; of each a row per rank and ten steps
-- Reads: nothing; the database fills them as rows come
-- Empty when: parts from before have them once they are rewritten, and are read in full until then
-- Expressions are those of the projection steps, so that a query over whole blocks of steps may be answered by either (heatmap_ranks).
ALTER TABLE tap_store.tensor ADD PROJECTION IF NOT EXISTS blocks
(
    SELECT
        run_id,
        rank,
        intDiv(step, 10),
        epoch,
        min(step),
        max(step),
        count(),
        countIf(NOT isFinite(value_min) OR NOT isFinite(value_max) OR NOT isFinite(value_mean) OR NOT isFinite(value_l2)
            OR nan_count + positive_infinity_count + negative_infinity_count > 0),
        minOrNullIf(value_min, bitTest(measured, 0) AND NOT isNaN(value_min)),
        countIf(bitTest(measured, 0)),
        maxOrNullIf(value_max, bitTest(measured, 1) AND NOT isNaN(value_max)),
        countIf(bitTest(measured, 1)),
        sumOrNullIf(value_l2 * value_l2, bitTest(measured, 4) AND isFinite(value_l2)),
        countIf(bitTest(measured, 4)),
        sumIf(element_count, bitTest(measured, 4) AND isFinite(value_l2)),
        sumOrNullIf(value_mean * element_count, bitTest(measured, 2) AND isFinite(value_mean)),
        countIf(bitTest(measured, 2)),
        sumIf(element_count, bitTest(measured, 2) AND isFinite(value_mean)),
        sumOrNullIf(nan_count, bitTest(measured, 6)),
        sumOrNullIf(positive_infinity_count + negative_infinity_count, bitTest(measured, 7) OR bitTest(measured, 8))
    GROUP BY
        run_id,
        rank,
        intDiv(step, 10),
        epoch
);

ALTER TABLE tap_store.tensor MATERIALIZE PROJECTION blocks;

-- How many steps of a rank have tensors.
ALTER TABLE tap_store.step ADD PROJECTION IF NOT EXISTS blocks
(
    SELECT
        run_id,
        rank,
        intDiv(step, 10),
        epoch,
        countIf(tensor_count > 0)
    GROUP BY
        run_id,
        rank,
        intDiv(step, 10),
        epoch
);

ALTER TABLE tap_store.step MATERIALIZE PROJECTION blocks;
