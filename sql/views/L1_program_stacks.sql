-- Question: where in the user's code was each op of a program called?
-- Grain: one row per run, program, position
-- Reads: tap_store.program_stack
-- Empty when: nothing was published
SELECT
    run_id,
    program_id,
    position,
    min(program_stack.stack_id) AS stack_id -- of several, as ranks may differ, always the same one
FROM tap_store.program_stack
GROUP BY
    run_id,
    program_id,
    position
