-- Question: how were the ops of two different programs paired?
-- Grain: one row per pair of programs, position in the merged order; of several versions of the rules the greatest
-- Reads: tap_store.alignment
-- Empty when: no two different programs were compared yet
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
WHERE (problem_program_id, bench_program_id, rules) IN (
    SELECT
        problem_program_id,
        bench_program_id,
        max(tap_store.alignment.rules)
    FROM tap_store.alignment
    GROUP BY
        problem_program_id,
        bench_program_id
)
