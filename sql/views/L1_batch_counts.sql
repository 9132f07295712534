-- Question: which batches of measurements are stored?
-- Grain: one row per kind, run, rank, epoch, batch
-- Reads: tap_store.tensor, tap_store.step, tap_store.payload
-- Empty when: no measurement was stored
-- Each part is answered by the projection ledger of its table, without reading the rows.
SELECT
    'tensor' AS kind,
    run_id,
    rank,
    epoch,
    batch,
    count() AS row_count
FROM tap_store.tensor
GROUP BY
    run_id,
    rank,
    epoch,
    batch
UNION ALL
SELECT
    'step' AS kind,
    run_id,
    rank,
    epoch,
    batch,
    count() AS row_count
FROM tap_store.step
GROUP BY
    run_id,
    rank,
    epoch,
    batch
UNION ALL
SELECT
    'payload' AS kind,
    run_id,
    rank,
    epoch,
    batch,
    count() AS row_count
FROM tap_store.payload
GROUP BY
    run_id,
    rank,
    epoch,
    batch
