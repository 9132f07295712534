-- Question: which raw tensors were kept, and where do they lie?
-- Grain: one row per run, rank, step, op, role, path, seq; replaced observations are hidden
-- Reads: tap_store.payload, tap.superseded_steps, tap_store.run, tap_store.site, tap_store.op
-- Empty when: no raw tensor was kept
SELECT
    p.run_id AS run_id,
    if(r.name = '', leftPad(lower(hex(p.run_id)), 16, '0'), r.name) AS run,
    p.rank AS rank,
    p.step AS step,
    p.seq AS seq,
    p.site_id AS site_id,
    s.op_id AS op_id,
    multiIf(o.name != '', o.name, s.op_id != 0, leftPad(lower(hex(s.op_id)), 16, '0'), leftPad(lower(hex(p.site_id)), 16, '0')) AS op,
    s.role AS role,
    s.path AS path,
    p.location AS location,
    p.size_bytes AS size_bytes,
    if(p.digest_kind != 0, toNullable(p.digest), NULL) AS digest,
    p.digest_kind AS digest_kind,
    p.epoch AS epoch,
    p.batch AS batch,
    p.event_time_ns AS event_time_ns
FROM tap_store.payload AS p
LEFT ANY JOIN tap_store.run AS r ON r.run_id = p.run_id
LEFT ANY JOIN tap_store.site AS s ON s.site_id = p.site_id
LEFT ANY JOIN tap_store.op AS o ON o.op_id = s.op_id
WHERE (p.run_id, p.rank, p.step, p.epoch) NOT IN (
    SELECT
        run_id,
        rank,
        step,
        epoch
    FROM tap.superseded_steps
)
