-- Question: which ATen ops were called, with tensors of which dtypes, shapes and strides?
-- Grain: one row per op, inputs, outputs
-- Reads: tap_store.signature
-- Empty when: no rank was recorded at level aten
SELECT
    signature_id,
    op_name,
    inputs,
    outputs
FROM tap_store.signature FINAL
