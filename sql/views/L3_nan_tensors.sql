-- Question: which tensors of any run hold NaN where none is meant to be?
-- Grain: one row per run, rank, step, micro step, site with NaN; replaced observations are hidden
-- Reads: tap_store.tensor, tap.superseded_steps, tap.excused_sites, tap_store.run, tap_store.site, tap_store.op
-- Empty when: no tensor holds NaN, or none was recorded
-- Infinity is left out, which masks hold: the report overflow tells those that are meant from others, run by run.
SELECT
    t.run_id AS run_id,
    if(r.name = '', leftPad(lower(hex(t.run_id)), 16, '0'), r.name) AS run,
    t.rank AS rank,
    t.step AS step,
    t.micro_step AS micro_step,
    t.seq AS seq,
    t.event_time_ns AS event_time_ns,
    t.site_id AS site_id,
    if(o.name = '', leftPad(lower(hex(t.site_id)), 16, '0'), o.name) AS op,
    o.module_path AS module_path,
    s.role AS role,
    s.path AS path,
    t.nan_count AS nan_count
FROM tap_store.tensor AS t
LEFT ANY JOIN tap_store.run AS r ON r.run_id = t.run_id
LEFT ANY JOIN tap_store.site AS s ON s.site_id = t.site_id
LEFT ANY JOIN tap_store.op AS o ON o.op_id = s.op_id
WHERE (t.nan_count > 0 OR isNaN(t.value_min) OR isNaN(t.value_max))
    -- As the index not_finite has it: what holds NaN is not finite.
    AND toUInt8(NOT isFinite(t.value_min) OR NOT isFinite(t.value_max) OR NOT isFinite(t.value_mean) OR t.nan_count + t.positive_infinity_count + t.negative_infinity_count > 0) = 1
    AND t.site_id NOT IN (
        SELECT site_id
        FROM tap.excused_sites
        WHERE sort IN ('uninitialised', 'not_finite')
    )
    AND (t.run_id, t.rank, t.step, t.epoch) NOT IN (
        SELECT
            run_id,
            rank,
            step,
            epoch
        FROM tap.superseded_steps
    )
