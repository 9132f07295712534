-- Question: which observations of a step were replaced by later ones and are hidden?
-- Grain: one row per run, rank, step, epoch that is not the one to keep
-- Reads: tap_store.step, tap_store.tensor, tap_store.run
-- Empty when: no step of a rank was observed more than once
-- The row of a step is published last, so an epoch cut short before it has tensors only. It is hidden where another
-- epoch ended the very same step, but not if the ranks themselves publish: their step may be running again.
WITH
    replaceable AS (
        SELECT
            run_id,
            rank,
            step,
            argMax(tap_store.step.epoch, (generation, event_time_ns, tap_store.step.epoch)) AS kept_epoch
        FROM tap_store.step
        WHERE generation > 0 OR run_id IN (
            SELECT run_id
            FROM tap_store.run
            WHERE event_time_source = 'file'
        )
        GROUP BY
            run_id,
            rank,
            step
    ),
    -- Normally none. The projection ledger answers it, and tensor is read for these only.
    unfinished AS (
        SELECT
            run_id,
            rank,
            tap_store.tensor.epoch AS epoch
        FROM tap_store.tensor
        WHERE (run_id, rank) IN (
            SELECT
                run_id,
                rank
            FROM replaceable
        )
        AND (run_id, rank, tap_store.tensor.epoch) NOT IN (
            SELECT
                run_id,
                rank,
                tap_store.step.epoch
            FROM tap_store.step
        )
        GROUP BY
            run_id,
            rank,
            epoch
    )
SELECT
    run_id,
    rank,
    step,
    arrayJoin(arrayFilter(candidate -> candidate != kept_epoch, groupUniqArray(tap_store.step.epoch))) AS epoch,
    argMax(tap_store.step.epoch, (generation, event_time_ns, tap_store.step.epoch)) AS kept_epoch
FROM tap_store.step
GROUP BY
    run_id,
    rank,
    step
HAVING uniqExact(tap_store.step.epoch) > 1
UNION ALL
SELECT
    started.run_id AS run_id,
    started.rank AS rank,
    started.step AS step,
    started.epoch AS epoch,
    replaceable.kept_epoch AS kept_epoch
FROM
(
    SELECT DISTINCT
        run_id,
        rank,
        step,
        epoch
    FROM tap_store.tensor
    WHERE (run_id, rank, epoch) IN (
        SELECT
            run_id,
            rank,
            epoch
        FROM unfinished
    )
) AS started
INNER JOIN replaceable ON replaceable.run_id = started.run_id AND replaceable.rank = started.rank AND replaceable.step = started.step
