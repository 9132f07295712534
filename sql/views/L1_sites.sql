-- Question: which tensors and arguments of ops are known?
-- Grain: one row per op, role, path
-- Reads: tap_store.site
-- Empty when: nothing was published
SELECT
    site_id,
    op_id,
    role,
    path
FROM tap_store.site FINAL
