-- Question: which observations of a step were replaced by later ones and are hidden?
-- Grain: one row per run, rank, step, epoch that is not the one to keep
-- Reads: tap_store.step, tap_store.tensor, tap_store.run
-- Empty when: no step of a rank was observed more than once
-- The row of a step is published last, so an epoch cut short before it has tensors only. It is hidden where another
-- epoch ended the very same step, but not if the ranks themselves publish: their step may be running again.
-- Steps are read of ranks that were started twice only, or whose steps came from several files, and tensors of epochs that
-- ended no step: normally there are none. The projection ledger finds both.
WITH restarted AS (
    SELECT
        run_id,
        rank
    FROM (
        SELECT
            run_id,
            rank,
            tap_store.step.epoch AS epoch
        FROM tap_store.step
        GROUP BY
            run_id,
            rank,
            tap_store.step.epoch
        UNION ALL
        SELECT
            run_id,
            rank,
            tap_store.tensor.epoch AS epoch
        FROM tap_store.tensor
        GROUP BY
            run_id,
            rank,
            tap_store.tensor.epoch
    )
    GROUP BY
        run_id,
        rank
    HAVING uniqExact(epoch) > 1
),
started AS (
    SELECT
        run_id,
        rank,
        step,
        epoch,
        generation,
        event_time_ns,
        true AS ended
    FROM tap_store.step
    WHERE (run_id, rank) IN (
        SELECT
            run_id,
            rank
        FROM restarted
    )
    UNION ALL
    SELECT DISTINCT
        run_id,
        rank,
        step,
        epoch,
        0 AS generation,
        0 AS event_time_ns,
        false AS ended
    FROM tap_store.tensor
    WHERE (run_id, rank) IN (
        SELECT
            run_id,
            rank
        FROM restarted
    )
    AND (run_id, rank, epoch) IN (
        SELECT
            run_id,
            rank,
            tap_store.tensor.epoch
        FROM tap_store.tensor
        WHERE (run_id, rank, tap_store.tensor.epoch) NOT IN (
            SELECT
                run_id,
                rank,
                tap_store.step.epoch
            FROM tap_store.step
            GROUP BY
                run_id,
                rank,
                tap_store.step.epoch
        )
        GROUP BY
            run_id,
            rank,
            tap_store.tensor.epoch
    )
)
SELECT
    run_id,
    rank,
    step,
    arrayJoin(arrayFilter(candidate -> candidate != kept_epoch, if(
        max(generation) > 0 OR run_id IN (
            SELECT run_id
            FROM tap_store.run
            WHERE event_time_source = 'file'
        ),
        groupUniqArray(started.epoch),
        groupUniqArrayIf(started.epoch, ended)))) AS epoch,
    argMaxIf(started.epoch, (generation, event_time_ns, started.epoch), ended) AS kept_epoch
FROM started
GROUP BY
    run_id,
    rank,
    step
HAVING uniqExact(started.epoch) > 1 AND countIf(ended) > 0
