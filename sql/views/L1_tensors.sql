-- Question: what did each tensor of each op of each step look like?
-- Grain: one row per run, rank, step, micro step, op, role, path; replaced observations are hidden
-- Reads: tap_store.tensor, tap.superseded_steps, tap_store.run, tap_store.site, tap_store.op, tap_store.layout
-- Empty when: no tensor was published
SELECT
    t.run_id AS run_id,
    if(r.name = '', leftPad(lower(hex(t.run_id)), 16, '0'), r.name) AS run,
    t.rank AS rank,
    t.step AS step,
    t.micro_step AS micro_step,
    t.seq AS seq,
    t.site_id AS site_id,
    s.op_id AS op_id,
    multiIf(o.name != '', o.name, s.op_id != 0, leftPad(lower(hex(s.op_id)), 16, '0'), leftPad(lower(hex(t.site_id)), 16, '0')) AS op,
    o.level AS level,
    o.module_path AS module_path,
    o.phase AS phase,
    s.role AS role,
    s.path AS path,
    t.layout_id AS layout_id,
    l.kind AS kind,
    l.dtype AS dtype,
    l.shape AS shape,
    l.requires_grad AS requires_grad,
    l.placement AS placement,
    if(l.kind = '', leftPad(lower(hex(t.layout_id)), 16, '0'), l.literal) AS literal,
    t.element_count AS element_count,
    if(bitTest(t.measured, 0), toNullable(t.value_min), NULL) AS value_min,
    if(bitTest(t.measured, 1), toNullable(t.value_max), NULL) AS value_max,
    if(bitTest(t.measured, 2), toNullable(t.value_mean), NULL) AS value_mean,
    if(bitTest(t.measured, 3), toNullable(t.value_m2), NULL) AS value_m2,
    if(bitTest(t.measured, 4), toNullable(t.value_l2), NULL) AS value_l2,
    if(bitTest(t.measured, 5), toNullable(t.value_l1), NULL) AS value_l1,
    if(bitTest(t.measured, 6), toNullable(t.nan_count), NULL) AS nan_count,
    if(bitTest(t.measured, 7), toNullable(t.positive_infinity_count), NULL) AS positive_infinity_count,
    if(bitTest(t.measured, 8), toNullable(t.negative_infinity_count), NULL) AS negative_infinity_count,
    if(bitTest(t.measured, 9), toNullable(t.zero_count), NULL) AS zero_count,
    if(bitTest(t.measured, 10), toNullable(t.subnormal_count), NULL) AS subnormal_count,
    if(t.digest_kind != 0, toNullable(t.digest), NULL) AS digest,
    t.digest_kind AS digest_kind,
    t.sketch AS sketch,
    t.epoch AS epoch,
    t.batch AS batch,
    t.event_time_ns AS event_time_ns
FROM tap_store.tensor AS t
LEFT ANY JOIN tap_store.run AS r ON r.run_id = t.run_id
LEFT ANY JOIN tap_store.site AS s ON s.site_id = t.site_id
LEFT ANY JOIN tap_store.op AS o ON o.op_id = s.op_id
LEFT ANY JOIN tap_store.layout AS l ON l.layout_id = t.layout_id
WHERE (t.run_id, t.rank, t.step, t.epoch) NOT IN (
    SELECT
        run_id,
        rank,
        step,
        epoch
    FROM tap.superseded_steps
)
