-- Question: where did the problem of each comparison begin to differ?
-- Grain: one row per comparison, place where its difference began, by the latest answer
-- Reads: tap_store.origin, tap.kept_judgings, tap_store.judged_step
-- Empty when: nothing differs, or nothing was judged
-- A step that was replaced and differs no more is the origin of nothing.
SELECT
    o.comparison_id AS comparison_id,
    o.revision AS revision,
    o.position AS position,
    o.rank AS rank,
    o.step AS step,
    o.seq AS seq,
    o.micro_step AS micro_step,
    o.micro_step_count AS micro_step_count,
    o.op AS op,
    o.module AS module,
    o.role AS role,
    o.path AS path,
    o.kind AS kind,
    o.parameter AS parameter,
    o.operation AS operation,
    o.verdict AS verdict,
    o.reason AS reason,
    o.evidence AS evidence,
    o.error AS error,
    o.tolerance AS tolerance,
    o.side AS side,
    o.problem_layout_id AS problem_layout_id,
    o.bench_layout_id AS bench_layout_id,
    o.problem_min AS problem_min,
    o.bench_min AS bench_min,
    o.problem_max AS problem_max,
    o.bench_max AS bench_max,
    o.problem_mean AS problem_mean,
    o.bench_mean AS bench_mean,
    o.problem_l2 AS problem_l2,
    o.bench_l2 AS bench_l2,
    o.user_frame AS user_frame,
    o.concurrent_count AS concurrent_count,
    o.at_or_before AS at_or_before,
    o.unseen AS unseen
FROM tap_store.origin AS o FINAL
INNER JOIN
(
    SELECT
        comparison_id,
        max(tap_store.origin.revision) AS revision
    FROM tap_store.origin
    GROUP BY comparison_id
) AS latest ON latest.comparison_id = o.comparison_id AND latest.revision = o.revision
INNER JOIN tap_store.judged_step AS j ON j.comparison_id = o.comparison_id AND j.rank = o.rank AND j.step = o.step
INNER JOIN tap.kept_judgings AS kept
    ON kept.comparison_id = o.comparison_id AND kept.rank = o.rank AND kept.step = o.step AND kept.epoch = j.epoch
WHERE j.differing_count > 0
