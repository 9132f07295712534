-- Question: which ranks took part in a run, where, and at which coordinates?
-- Grain: one row per run, rank, by its latest start
-- Reads: tap_store.rank, tap_store.run
-- Empty when: no rank was published
SELECT
    k.run_id AS run_id,
    if(r.name = '', leftPad(lower(hex(k.run_id)), 16, '0'), r.name) AS run,
    k.rank AS rank,
    k.epoch AS epoch,
    k.host AS host,
    k.pid AS pid,
    k.device AS device,
    k.tp AS tp,
    k.pp AS pp,
    k.dp AS dp,
    k.cp AS cp,
    k.ep AS ep,
    k.tp_size AS tp_size,
    k.pp_size AS pp_size,
    k.dp_size AS dp_size,
    k.cp_size AS cp_size,
    k.ep_size AS ep_size,
    k.source_name AS source_name,
    k.started_time_ns AS started_time_ns,
    k.parameters AS parameters,
    k.child AS child
FROM (
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
        started_time_ns,
        parameters,
        child
    FROM tap_store.rank
    ORDER BY
        run_id,
        rank,
        started_time_ns DESC,
        epoch DESC
    LIMIT 1 BY
        run_id,
        rank
) AS k
LEFT ANY JOIN tap_store.run AS r ON r.run_id = k.run_id
