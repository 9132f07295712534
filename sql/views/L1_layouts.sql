-- Question: which dtypes, shapes, placements and literals occur?
-- Grain: one row per layout
-- Reads: tap_store.layout
-- Empty when: nothing was published
SELECT
    layout_id,
    kind,
    dtype,
    shape,
    stride_class,
    device_kind,
    requires_grad,
    placement,
    literal
FROM tap_store.layout FINAL
