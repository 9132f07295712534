-- Question: which calls make up a tally, how many of each?
-- Grain: one row per tally, position in the order of first calls
-- Reads: tap_store.tally
-- Empty when: no rank was recorded at level aten
SELECT
    tally_id,
    position,
    signature_id,
    module_path,
    call_count
FROM tap_store.tally FINAL
