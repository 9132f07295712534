-- Question: where did the problem run begin to differ from the bench run, over all ranks?
-- Grain: one row per rank whose first difference comes after no other rank's, at the first step that has one
-- Reads: tap.wanted_comparison, tap.origins, tap.judged_steps, tap_store.layout
-- Empty when: nothing differs beyond the tolerance, or nothing was judged
-- Shown: rank, step, op, module, role, path, kind, verdict, error, tolerance, side
-- Parameter problem: name of the run under suspicion.
-- Parameter bench: name of the run it is held against.
-- Parameter comparison = '': id of the comparison, of several; empty for the one that was asked for last.
WITH
    (
        SELECT comparison_id
        FROM tap.wanted_comparison(problem = {problem:String}, bench = {bench:String}, comparison = {comparison:String})
    ) AS wanted_id
SELECT
    o.rank AS rank,
    o.step AS step,
    o.seq AS position,
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
    problem_layout.dtype AS problem_dtype,
    bench_layout.dtype AS bench_dtype,
    problem_layout.shape AS problem_shape,
    bench_layout.shape AS bench_shape,
    problem_layout.literal AS problem_literal,
    bench_layout.literal AS bench_literal,
    o.problem_min AS problem_min,
    o.bench_min AS bench_min,
    o.problem_max AS problem_max,
    o.bench_max AS bench_max,
    o.problem_mean AS problem_mean,
    o.bench_mean AS bench_mean,
    o.problem_l2 AS problem_l2,
    o.bench_l2 AS bench_l2,
    o.user_frame AS user_frame,
    differing.total AS differing_count,
    o.concurrent_count AS concurrent,
    toBool(o.at_or_before) AS at_or_before,
    o.unseen AS unseen,
    o.micro_step AS micro_step,
    o.micro_step_count AS micro_step_count
FROM tap.origins AS o
LEFT ANY JOIN (
    SELECT
        rank,
        sum(differing_count) AS total
    FROM tap.judged_steps
    WHERE comparison_id = wanted_id
    GROUP BY rank
) AS differing ON differing.rank = o.rank
LEFT ANY JOIN tap_store.layout AS problem_layout ON problem_layout.layout_id = o.problem_layout_id
LEFT ANY JOIN tap_store.layout AS bench_layout ON bench_layout.layout_id = o.bench_layout_id
WHERE o.comparison_id = wanted_id
ORDER BY
    o.position,
    rank
