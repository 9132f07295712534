-- Question: what came of each comparison that was asked for, up to now?
-- Grain: one row per comparison
-- Reads: tap.declared_comparisons, tap.judged_steps, tap.origins, tap_store.site, tap_store.op
-- Empty when: no comparison was asked for
-- The place is that where the difference began over all ranks. Until that is found out, it is the first of the steps that differ.
WITH
    judged AS (
        SELECT
            comparison_id,
            count() AS step_count,
            uniqExact(j.rank) AS rank_count,
            max(j.step) AS last_step,
            sum(j.paired_count) AS paired_count,
            sum(j.differing_count) AS differing_count,
            sum(j.not_finite_count) AS not_finite_count,
            sum(j.unknown_count + j.only_problem_count + j.only_bench_count) AS unpaired_count,
            countIf(j.differing_count > 0) AS differing_step_count,
            max(j.greatest_error) AS greatest_error,
            max(j.event_time_ns) AS judged_time_ns,
            argMinIf((j.rank, j.step, j.first_site_id), (j.step, j.first_seq, j.rank), j.differing_count > 0) AS first_place
        FROM tap.judged_steps AS j
        GROUP BY comparison_id
    ),
    begun AS (
        SELECT
            comparison_id,
            1 AS known,
            argMin((o.rank, o.step, o.op, o.module), o.position) AS place
        FROM tap.origins AS o
        GROUP BY comparison_id
    )
SELECT
    d.comparison_id AS comparison_id,
    leftPad(lower(hex(d.comparison_id)), 16, '0') AS comparison,
    d.declared_time_ns AS declared_time_ns,
    d.problem AS problem,
    d.benches[1] AS bench,
    d.standing AS standing,
    multiIf(judged.step_count = 0, 'not judged', judged.differing_count > 0, 'differs', judged.paired_count = 0, 'unknown', 'agrees') AS verdict,
    judged.rank_count AS rank_count,
    judged.step_count AS judged_step_count,
    judged.differing_step_count AS differing_step_count,
    judged.paired_count AS paired_count,
    judged.differing_count AS differing_count,
    judged.not_finite_count AS not_finite_count,
    judged.unpaired_count AS unpaired_count,
    judged.greatest_error AS greatest_error,
    judged.judged_time_ns AS judged_time_ns,
    if(judged.differing_count > 0, toNullable(if(begun.known = 1, tupleElement(begun.place, 1), tupleElement(judged.first_place, 1))), NULL) AS first_rank,
    if(judged.differing_count > 0, toNullable(if(begun.known = 1, tupleElement(begun.place, 2), tupleElement(judged.first_place, 2))), NULL) AS first_step,
    multiIf(judged.differing_count = 0, '', begun.known = 1, tupleElement(begun.place, 3), o.name) AS first_op,
    multiIf(judged.differing_count = 0, '', begun.known = 1, tupleElement(begun.place, 4), o.module_path) AS first_module
FROM tap.declared_comparisons AS d
LEFT JOIN judged ON judged.comparison_id = d.comparison_id
LEFT JOIN begun ON begun.comparison_id = d.comparison_id
LEFT ANY JOIN tap_store.site AS s ON s.site_id = tupleElement(judged.first_place, 3)
LEFT ANY JOIN tap_store.op AS o ON o.op_id = s.op_id
