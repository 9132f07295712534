-- Question: which ops ran in which order and under which module?
-- Grain: one row per program, position
-- Reads: tap_store.program
-- Empty when: nothing was published
SELECT
    program_id,
    position,
    op_id,
    parent_op_id
FROM tap_store.program FINAL
