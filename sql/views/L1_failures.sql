-- Question: which ops raised an exception?
-- Grain: one row per run, rank, epoch, step, seq; those of steps that ran again are shown too
-- Reads: tap_store.failure, tap_store.run, tap_store.op, tap_store.stack
-- Empty when: no op raised, or only files were published
SELECT
    f.run_id AS run_id,
    if(r.name = '', leftPad(lower(hex(f.run_id)), 16, '0'), r.name) AS run,
    f.rank AS rank,
    f.step AS step,
    f.seq AS seq,
    f.op_id AS op_id,
    if(o.name = '' AND f.op_id != 0, leftPad(lower(hex(f.op_id)), 16, '0'), o.name) AS op,
    if(f.module_path = '', o.module_path, f.module_path) AS module_path,
    f.type AS type,
    f.message AS message,
    f.inputs AS inputs,
    f.stack_id AS stack_id,
    s.frames AS frames,
    f.epoch AS epoch,
    f.event_time_ns AS event_time_ns
FROM tap_store.failure AS f
LEFT ANY JOIN tap_store.run AS r ON r.run_id = f.run_id
LEFT ANY JOIN tap_store.op AS o ON o.op_id = f.op_id
LEFT ANY JOIN tap_store.stack AS s ON s.stack_id = f.stack_id
