-- Question: which ops are known, and what is each?
-- Grain: one row per op
-- Reads: tap_store.op
-- Empty when: nothing was published
SELECT
    op_id,
    name,
    level,
    prefix,
    module_path,
    layer_index,
    class_or_api,
    call_index,
    phase
FROM tap_store.op FINAL
