-- Question: which ranks took part in a run, where, and at which coordinates?
-- Grain: one row per run, rank, by its latest start
-- Reads: tap_store.rank
-- Empty when: no rank was published
SELECT
    run_id,
    rank,
    epoch,
    host,
    pid,
    device,
    tp,
    pp,
    dp,
    cp,
    ep,
    tp_size,
    pp_size,
    dp_size,
    cp_size,
    ep_size,
    source_name,
    started_time_ns
FROM tap_store.rank
ORDER BY
    run_id,
    rank,
    started_time_ns DESC,
    epoch DESC
LIMIT 1 BY
    run_id,
    rank
