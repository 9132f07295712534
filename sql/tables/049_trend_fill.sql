-- Question: Which steps are added up for trends, and when?
-- Grain: as tap_store.trend, which it fills
-- Reads: tap_store.tensor, tap_store.step, tap_store.trend
-- Empty when: there is no step of several ranks to add up
-- In place of the view of the same name in 018_trend.sql, which looked at all steps of all runs each time. This one
-- chooses first, by the rows of step alone, and compares and adds up only what it chose.
DROP VIEW IF EXISTS tap_store.trend_fill;

-- Adds up steps that have ended: every rank said how many rows it published, and they are stored. Of replaced
-- observations those that views show (tap.superseded_steps). It writes about a million rows at a time, and reads up to sixteen.
CREATE MATERIALIZED VIEW IF NOT EXISTS tap_store.trend_fill
REFRESH EVERY 20 SECOND APPEND TO tap_store.trend EMPTY
AS
WITH
    ranks AS (
        SELECT
            run_id,
            rank,
            max(step) AS last_step,
            max(event_time_ns) AS last_time_ns
        FROM tap_store.step
        GROUP BY
            run_id,
            rank
    ),
    -- How far the slowest rank is; one that is silent for five minutes beside the others has ended.
    reached AS (
        SELECT
            run_id,
            min(if(last_time_ns < run_time_ns - 300000000000, toUInt32(4294967295), last_step)) AS reached_step
        FROM (
            SELECT
                run_id,
                last_step,
                last_time_ns,
                max(last_time_ns) OVER (PARTITION BY run_id) AS run_time_ns
            FROM ranks
        )
        GROUP BY run_id
    ),
    waiting AS (
        SELECT
            run_id,
            step,
            greatest(sum(tensor_count) / count() + count(), sum(tensor_count) / 16) AS work
        FROM tap_store.step
        WHERE (run_id, step) NOT IN (
            SELECT
                run_id,
                step
            FROM tap_store.trend
            GROUP BY
                run_id,
                step
        )
        GROUP BY
            run_id,
            step
        HAVING min(rank) != max(rank) AND sum(tensor_count) > 0
    ),
    -- A query without FROM reads system.one, which is not there yet when a server starts.
    -- Some steps never become whole, so which are looked at first changes from time to time.
    (
        SELECT groupArray((run_id, step))
        FROM (
            SELECT
                run_id,
                step,
                work,
                sum(work) OVER (
                    ORDER BY cityHash64(run_id, intDiv(step, 64), now()), run_id, step
                    ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS work_until
            FROM waiting
            INNER JOIN reached ON reached.run_id = waiting.run_id
            WHERE step <= reached_step
        )
        WHERE work_until - work < 1000000
    ) AS chosen,
    kept AS (
        SELECT
            run_id,
            rank,
            step,
            argMax(tap_store.step.epoch, (generation, event_time_ns, tap_store.step.epoch)) AS kept_epoch,
            argMax(tensor_count, (generation, event_time_ns, tap_store.step.epoch)) AS kept_count,
            groupUniqArray(tap_store.step.epoch) AS epochs
        FROM tap_store.step
        WHERE (run_id, step) IN (SELECT arrayJoin(chosen) FROM numbers(1))
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
        WHERE (run_id, step) IN (SELECT arrayJoin(chosen) FROM numbers(1))
        GROUP BY
            run_id,
            rank,
            step,
            epoch
    ),
    (
        SELECT groupArray((run_id, step, content))
        FROM (
            SELECT
                stored.run_id AS run_id,
                stored.step AS step,
                sumIf(cityHash64(stored.rank, stored.epoch, stored_count, seq_sum), stored.epoch = kept_epoch) AS content
            FROM stored
            LEFT ANY JOIN kept ON kept.run_id = stored.run_id AND kept.rank = stored.rank AND kept.step = stored.step
            GROUP BY
                stored.run_id,
                stored.step
            HAVING uniqExact(stored.rank) > 1
                AND min(has(epochs, stored.epoch)) = 1
                AND countIf(stored.epoch = kept_epoch AND stored_count = kept_count) = uniqExact(stored.rank)
        )
    ) AS whole,
    contents AS (
        SELECT
            whole_step.1 AS run_id,
            whole_step.2 AS step,
            whole_step.3 AS content
        FROM (SELECT arrayJoin(whole) AS whole_step FROM numbers(1))
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
            FROM contents
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
    contents.content AS content,
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
INNER JOIN contents ON contents.run_id = added.run_id AND contents.step = added.step
SETTINGS max_threads = 1;
