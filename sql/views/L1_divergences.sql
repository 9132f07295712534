-- Question: which pairs of tensors do not agree, by the comparisons that were made?
-- Grain: one row per comparison, rank, step, micro step, site that is not equal, within or agreeing; judgings of what was replaced are hidden
-- Reads: tap_store.verdict, tap.kept_judgings, tap_store.site, tap_store.op
-- Empty when: everything agrees, or nothing was judged
SELECT
    v.comparison_id AS comparison_id,
    v.run_id AS run_id,
    v.rank AS rank,
    v.step AS step,
    v.bench_rank AS bench_rank,
    v.bench_step AS bench_step,
    v.micro_step AS micro_step,
    v.seq AS seq,
    v.site_id AS site_id,
    v.bench_site_id AS bench_site_id,
    multiIf(o.name != '', o.name, s.op_id != 0, leftPad(lower(hex(s.op_id)), 16, '0'), leftPad(lower(hex(v.site_id)), 16, '0')) AS op,
    o.module_path AS module_path,
    s.role AS role,
    s.path AS path,
    v.user_frame AS user_frame,
    v.problem_present AS problem_present,
    v.bench_present AS bench_present,
    v.problem_layout_id AS problem_layout_id,
    v.bench_layout_id AS bench_layout_id,
    v.verdict AS verdict,
    v.numeric AS numeric,
    v.evidence AS evidence,
    v.side AS side,
    v.reason AS reason,
    v.structure AS structure,
    v.differs AS differs,
    v.error AS error,
    v.error_low AS error_low,
    v.error_high AS error_high,
    v.tolerance AS tolerance,
    v.z_score AS z_score,
    v.problem_element_count AS problem_element_count,
    v.bench_element_count AS bench_element_count,
    if(bitTest(v.problem_measured, 0), toNullable(v.problem_min), NULL) AS problem_min,
    if(bitTest(v.bench_measured, 0), toNullable(v.bench_min), NULL) AS bench_min,
    if(bitTest(v.problem_measured, 1), toNullable(v.problem_max), NULL) AS problem_max,
    if(bitTest(v.bench_measured, 1), toNullable(v.bench_max), NULL) AS bench_max,
    if(bitTest(v.problem_measured, 2), toNullable(v.problem_mean), NULL) AS problem_mean,
    if(bitTest(v.bench_measured, 2), toNullable(v.bench_mean), NULL) AS bench_mean,
    if(bitTest(v.problem_measured, 4), toNullable(v.problem_l2), NULL) AS problem_l2,
    if(bitTest(v.bench_measured, 4), toNullable(v.bench_l2), NULL) AS bench_l2,
    v.problem_not_finite_count AS problem_not_finite_count,
    v.bench_not_finite_count AS bench_not_finite_count,
    v.provisional AS provisional,
    v.event_time_ns AS event_time_ns
FROM tap_store.verdict AS v
INNER JOIN tap.kept_judgings AS kept
    ON kept.comparison_id = v.comparison_id AND kept.rank = v.rank AND kept.step = v.step AND kept.epoch = v.epoch
LEFT ANY JOIN tap_store.site AS s ON s.site_id = v.site_id
LEFT ANY JOIN tap_store.op AS o ON o.op_id = s.op_id
