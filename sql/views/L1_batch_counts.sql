-- Question: which batches of measurements are stored?
-- Grain: one row per kind, run, rank, epoch, batch
-- Reads: tap_store.tensor, tap_store.step, tap_store.payload, tap_store.memory, tap_store.failure, tap_store.unseen, tap_store.heartbeat, tap_store.request, tap_store.call, tap_store.collective, tap_store.log, tap_store.metric, tap_store.allocation, tap_store.request_event, tap_store.token, tap_store.weight, tap_store.token_site
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
UNION ALL
SELECT
    'memory' AS kind,
    run_id,
    rank,
    epoch,
    batch,
    count() AS row_count
FROM tap_store.memory
GROUP BY
    run_id,
    rank,
    epoch,
    batch
UNION ALL
SELECT
    'failure' AS kind,
    run_id,
    rank,
    epoch,
    batch,
    count() AS row_count
FROM tap_store.failure
GROUP BY
    run_id,
    rank,
    epoch,
    batch
UNION ALL
SELECT
    'unseen' AS kind,
    run_id,
    rank,
    epoch,
    batch,
    count() AS row_count
FROM tap_store.unseen
GROUP BY
    run_id,
    rank,
    epoch,
    batch
UNION ALL
SELECT
    'heartbeat' AS kind,
    run_id,
    rank,
    epoch,
    batch,
    count() AS row_count
FROM tap_store.heartbeat
GROUP BY
    run_id,
    rank,
    epoch,
    batch
UNION ALL
SELECT
    'request' AS kind,
    run_id,
    rank,
    epoch,
    batch,
    count() AS row_count
FROM tap_store.request
GROUP BY
    run_id,
    rank,
    epoch,
    batch
UNION ALL
SELECT
    'call' AS kind,
    run_id,
    rank,
    epoch,
    batch,
    count() AS row_count
FROM tap_store.call
GROUP BY
    run_id,
    rank,
    epoch,
    batch
UNION ALL
SELECT
    'collective' AS kind,
    run_id,
    rank,
    epoch,
    batch,
    count() AS row_count
FROM tap_store.collective
GROUP BY
    run_id,
    rank,
    epoch,
    batch
UNION ALL
SELECT
    'log' AS kind,
    run_id,
    rank,
    epoch,
    batch,
    count() AS row_count
FROM tap_store.log
GROUP BY
    run_id,
    rank,
    epoch,
    batch
UNION ALL
SELECT
    'metric' AS kind,
    run_id,
    rank,
    epoch,
    batch,
    count() AS row_count
FROM tap_store.metric
GROUP BY
    run_id,
    rank,
    epoch,
    batch
UNION ALL
SELECT
    'allocation' AS kind,
    run_id,
    rank,
    epoch,
    batch,
    count() AS row_count
FROM tap_store.allocation
GROUP BY
    run_id,
    rank,
    epoch,
    batch
UNION ALL
SELECT
    'request_event' AS kind,
    run_id,
    rank,
    epoch,
    batch,
    count() AS row_count
FROM tap_store.request_event
GROUP BY
    run_id,
    rank,
    epoch,
    batch
UNION ALL
SELECT
    'token' AS kind,
    run_id,
    rank,
    epoch,
    batch,
    count() AS row_count
FROM tap_store.token
GROUP BY
    run_id,
    rank,
    epoch,
    batch
UNION ALL
SELECT
    'weight' AS kind,
    run_id,
    rank,
    epoch,
    batch,
    count() AS row_count
FROM tap_store.weight
GROUP BY
    run_id,
    rank,
    epoch,
    batch
UNION ALL
SELECT
    'token_site' AS kind,
    run_id,
    rank,
    epoch,
    batch,
    count() AS row_count
FROM tap_store.token_site
GROUP BY
    run_id,
    rank,
    epoch,
    batch
