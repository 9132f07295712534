-- Question: how much memory did each rank use at the end of each step, of all and by component, and after each module?
-- Grain: one row per run, rank, step, epoch, seq; replaced observations are hidden
-- Reads: tap_store.memory, tap.superseded_steps, tap_store.run, tap_store.op
-- Empty when: no live rank measured its memory
SELECT
    m.run_id AS run_id,
    if(r.name = '', leftPad(lower(hex(m.run_id)), 16, '0'), r.name) AS run,
    m.rank AS rank,
    m.step AS step,
    m.seq AS seq,
    m.op_id AS op_id,
    if(o.name = '' AND m.op_id != 0, leftPad(lower(hex(m.op_id)), 16, '0'), o.name) AS op,
    o.module_path AS module_path,
    m.device AS device,
    if(m.component = '', 'all', m.component) AS component,
    m.basis AS basis,
    m.allocated_bytes AS allocated_bytes,
    m.reserved_bytes AS reserved_bytes,
    m.peak_bytes AS peak_bytes,
    m.device_free_bytes AS device_free_bytes,
    m.host_resident_bytes AS host_resident_bytes,
    m.retry_count AS retry_count,
    m.oom_count AS oom_count,
    m.epoch AS epoch,
    m.event_time_ns AS event_time_ns
FROM tap_store.memory AS m
LEFT ANY JOIN tap_store.run AS r ON r.run_id = m.run_id
LEFT ANY JOIN tap_store.op AS o ON o.op_id = m.op_id
WHERE (m.run_id, m.rank, m.step, m.epoch) NOT IN (
    SELECT
        run_id,
        rank,
        step,
        epoch
    FROM tap.superseded_steps
)
