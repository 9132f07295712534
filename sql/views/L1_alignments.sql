-- Question: how were the ops of two different programs paired?
-- Grain: one row per pair of programs, position in the merged order; of several alignments, that of the greatest rules
-- Reads: tap_store.alignment
-- Empty when: no two different programs were compared yet
-- Of several by the same rules, which runs with other arguments may have found, always the same one, and rather a whole
-- one than one that was stored in part.
SELECT
    problem_program_id,
    bench_program_id,
    rules,
    position,
    problem_op_id,
    bench_op_id,
    problem_position,
    bench_position,
    reason
FROM tap_store.alignment FINAL
WHERE (problem_program_id, bench_program_id, rules, content) IN (
    SELECT
        problem_program_id,
        bench_program_id,
        rules,
        content
    FROM tap_store.alignment
    GROUP BY
        problem_program_id,
        bench_program_id,
        rules,
        content
    ORDER BY
        problem_program_id,
        bench_program_id,
        rules DESC,
        uniqExact(position) DESC,
        content
    LIMIT 1 BY
        problem_program_id,
        bench_program_id
)
