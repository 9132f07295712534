-- Question: What did each tensor of each step look like over all ranks, for trends?
-- Grain: one row per run, site, step that more than one rank observed and that has ended on all of them
-- Reads: tap_store.tensor, tap_store.step
-- Empty when: no step of a run of several ranks has ended
-- This is a copy that the database keeps of what tensor says, and nothing but speed rests on it. Views take a step
-- from here only while content and rows are those of tensor (tap.trend_steps), and read tensor itself otherwise.
-- Null is: nobody measured it; nan: it was measured, but was never finite (for value_min and value_max: never a number).
CREATE TABLE IF NOT EXISTS tap_store.trend
(
    `run_id` UInt64 COMMENT 'Run.' CODEC(ZSTD(1)),
    `site_id` UInt64 COMMENT 'Which tensor of which op (site).' CODEC(ZSTD(1)),
    `step` UInt32 COMMENT 'Step.' CODEC(Delta, ZSTD(1)),
    `content` UInt64 COMMENT 'Checksum over which rows of tensor the whole step was added up from.' CODEC(ZSTD(1)),
    `row_count` UInt64 COMMENT 'Rows of tensor added up.' CODEC(T64, ZSTD(1)),
    `not_finite_row_count` UInt64 COMMENT 'Rows of which some statistic, or some element, was not finite.' CODEC(T64, ZSTD(1)),
    `element_count` UInt64 COMMENT 'Elements.' CODEC(T64, ZSTD(1)),
    `value_min` Nullable(Float64) COMMENT 'Least minimum that is a number.' CODEC(ZSTD(1)),
    `value_max` Nullable(Float64) COMMENT 'Greatest maximum that is a number.' CODEC(ZSTD(1)),
    `square_sum` Nullable(Float64) COMMENT 'Sum of squares of the elements, where the norm is finite.' CODEC(ZSTD(1)),
    `square_element_count` UInt64 COMMENT 'Elements in square_sum.' CODEC(T64, ZSTD(1)),
    `value_sum` Nullable(Float64) COMMENT 'Sum of the elements, where the mean is finite.' CODEC(ZSTD(1)),
    `value_element_count` UInt64 COMMENT 'Elements in value_sum.' CODEC(T64, ZSTD(1)),
    `nan_count` Nullable(UInt64) COMMENT 'Elements that are not a number, where they were counted.' CODEC(ZSTD(1)),
    `infinity_count` Nullable(UInt64) COMMENT 'Elements that are infinite, where they were counted.' CODEC(ZSTD(1)),
    PROJECTION steps (SELECT run_id, step, content, sum(row_count) GROUP BY run_id, step, content)
)
ENGINE = MergeTree
ORDER BY (run_id, site_id, step)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;

-- What each rank of each step holds, added up over its sites. It is part of every part of tensor, so never behind it.
-- An INSERT holds few steps, so that it costs next to nothing; per site it would double the cost of an INSERT.
ALTER TABLE tap_store.tensor ADD PROJECTION IF NOT EXISTS steps
(
    SELECT
        run_id,
        rank,
        step,
        epoch,
        count(),
        sum(seq),
        countIf(NOT isFinite(value_min) OR NOT isFinite(value_max) OR NOT isFinite(value_mean) OR NOT isFinite(value_l2)
            OR nan_count + positive_infinity_count + negative_infinity_count > 0),
        sum(element_count),
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
        step,
        epoch
);

-- Parts from before; until they have it too, they are read in full.
ALTER TABLE tap_store.tensor MATERIALIZE PROJECTION steps;

-- Adds up steps that have ended: every rank said how many rows it published, and they are stored. Of replaced
-- observations those that views show (tap.superseded_steps). It takes about a million rows to write at a time.
CREATE MATERIALIZED VIEW IF NOT EXISTS tap_store.trend_fill
REFRESH EVERY 20 SECOND APPEND TO tap_store.trend EMPTY
AS
WITH
    kept AS (
        SELECT
            run_id,
            rank,
            step,
            argMax(tap_store.step.epoch, (generation, event_time_ns, tap_store.step.epoch)) AS kept_epoch,
            argMax(tensor_count, (generation, event_time_ns, tap_store.step.epoch)) AS kept_count,
            groupUniqArray(tap_store.step.epoch) AS epochs
        FROM tap_store.step
        GROUP BY
            run_id,
            rank,
            step
    ),
    stored AS (
        SELECT
            run_id,
            rank,
            step,
            epoch,
            count() AS stored_count,
            sum(seq) AS seq_sum
        FROM tap_store.tensor
        GROUP BY
            run_id,
            rank,
            step,
            epoch
    ),
    settled AS (
        SELECT
            stored.run_id AS run_id,
            stored.step AS step,
            sumIf(cityHash64(stored.rank, stored.epoch, stored_count, seq_sum), stored.epoch = kept_epoch) AS content,
            sumIf(stored_count, stored.epoch = kept_epoch) / uniqExact(stored.rank) AS work
        FROM stored
        LEFT ANY JOIN kept ON kept.run_id = stored.run_id AND kept.rank = stored.rank AND kept.step = stored.step
        WHERE (stored.run_id, stored.step) NOT IN (
            SELECT
                run_id,
                step
            FROM tap_store.trend
            GROUP BY
                run_id,
                step
        )
        GROUP BY
            stored.run_id,
            stored.step
        HAVING uniqExact(stored.rank) > 1
            AND min(has(epochs, stored.epoch)) = 1
            AND countIf(stored.epoch = kept_epoch AND stored_count = kept_count) = uniqExact(stored.rank)
    ),
    pending AS (
        SELECT
            run_id,
            step,
            content
        FROM (
            SELECT
                run_id,
                step,
                content,
                work,
                sum(work) OVER (ORDER BY run_id, step ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS work_until
            FROM settled
        )
        WHERE work_until - work < 1000000
    ),
    added AS (
        SELECT
            run_id,
            site_id,
            step,
            count() AS row_count,
            countIf(NOT isFinite(t.value_min) OR NOT isFinite(t.value_max) OR NOT isFinite(value_mean) OR NOT isFinite(value_l2)
                OR t.nan_count + positive_infinity_count + negative_infinity_count > 0) AS not_finite_row_count,
            sum(t.element_count) AS element_count,
            ifNull(minOrNullIf(t.value_min, bitTest(measured, 0) AND NOT isNaN(t.value_min)), if(countIf(bitTest(measured, 0)) > 0, nan, NULL)) AS value_min,
            ifNull(maxOrNullIf(t.value_max, bitTest(measured, 1) AND NOT isNaN(t.value_max)), if(countIf(bitTest(measured, 1)) > 0, nan, NULL)) AS value_max,
            ifNull(sumOrNullIf(value_l2 * value_l2, bitTest(measured, 4) AND isFinite(value_l2)), if(countIf(bitTest(measured, 4)) > 0, nan, NULL)) AS square_sum,
            sumIf(t.element_count, bitTest(measured, 4) AND isFinite(value_l2)) AS square_element_count,
            ifNull(sumOrNullIf(value_mean * t.element_count, bitTest(measured, 2) AND isFinite(value_mean)), if(countIf(bitTest(measured, 2)) > 0, nan, NULL)) AS value_sum,
            sumIf(t.element_count, bitTest(measured, 2) AND isFinite(value_mean)) AS value_element_count,
            sumOrNullIf(t.nan_count, bitTest(measured, 6)) AS nan_count,
            sumOrNullIf(positive_infinity_count + negative_infinity_count, bitTest(measured, 7) OR bitTest(measured, 8)) AS infinity_count
        FROM tap_store.tensor AS t
        WHERE (run_id, step) IN (
            SELECT
                run_id,
                step
            FROM pending
        )
        AND (run_id, rank, step, epoch) IN (
            SELECT
                run_id,
                rank,
                step,
                kept_epoch
            FROM kept
        )
        GROUP BY
            run_id,
            site_id,
            step
    )
SELECT
    added.run_id AS run_id,
    site_id,
    added.step AS step,
    pending.content AS content,
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
FROM added
INNER JOIN pending ON pending.run_id = added.run_id AND pending.step = added.step
SETTINGS max_threads = 1;
