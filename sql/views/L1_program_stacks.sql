-- Question: where in the user's code was each op of a program called?
-- Grain: one row per run, program, position
-- Reads: tap_store.program_stack
-- Empty when: nothing was published
SELECT
    run_id,
    program_id,
    position,
    stack_id
FROM tap_store.program_stack FINAL
