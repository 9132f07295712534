-- Question: of which steps does tap_store.trend hold just what tensor holds, and of which not?
-- Grain: one row per run, step that has visible observations, or that trend holds
-- Reads: tap_store.tensor, tap_store.trend, tap_store.removal, tap.superseded_steps
-- Empty when: no tensor was published
-- State is kept (trend says the same), missing (trend says nothing: the step has not ended, only one rank observed it,
-- or it was not added up yet) or wrong (trend lost rows, holds some twice, or holds what was replaced since).
-- Where retention removed the tensors trend is all that there is.
-- Both tables answer from their projection steps, so that this reads a row per rank and step.
WITH sides AS (
    SELECT
        run_id,
        step,
        uniqExact(rank) AS rank_count,
        sum(stored_count) AS row_count,
        sum(cityHash64(rank, epoch, stored_count, seq_sum)) AS content,
        toUInt64(0) AS kept_row_count,
        toUInt64(0) AS kept_content,
        toUInt64(0) AS kept_content_count
    FROM (
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
    )
    WHERE (run_id, rank, step, epoch) NOT IN (
        SELECT
            run_id,
            rank,
            step,
            epoch
        FROM tap.superseded_steps
    )
    GROUP BY
        run_id,
        step
    UNION ALL
    SELECT
        run_id,
        step,
        0 AS rank_count,
        0 AS row_count,
        0 AS content,
        sum(part_row_count) AS kept_row_count,
        any(part_content) AS kept_content,
        count() AS kept_content_count
    FROM (
        SELECT
            run_id,
            step,
            tap_store.trend.content AS part_content,
            sum(tap_store.trend.row_count) AS part_row_count
        FROM tap_store.trend
        GROUP BY
            run_id,
            step,
            tap_store.trend.content
    )
    GROUP BY
        run_id,
        step
)
SELECT
    run_id,
    step,
    sum(sides.rank_count) AS rank_count,
    sum(sides.row_count) AS row_count,
    sum(sides.kept_row_count) AS kept_row_count,
    multiIf(
        sum(sides.kept_content_count) = 0, 'missing',
        sum(sides.kept_content_count) = 1 AND run_id IN (
            SELECT run_id
            FROM tap_store.removal
            WHERE part = 'details'
        ), 'kept',
        sum(sides.kept_content_count) = 1 AND sum(sides.kept_content) = sum(sides.content) AND kept_row_count = row_count, 'kept',
        'wrong') AS state
FROM sides
GROUP BY
    run_id,
    step
