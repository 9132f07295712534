-- Question: which Python call stacks occur?
-- Grain: one row per distinct stack
-- Reads: tap_store.stack
-- Empty when: nothing was published
SELECT
    stack_id,
    frames
FROM tap_store.stack FINAL
