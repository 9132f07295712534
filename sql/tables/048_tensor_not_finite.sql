-- Question: Which tensors are not finite?
-- Grain: as tap_store.tensor, of 8,192 rows that lie together whether any is
-- Reads: nothing; the database fills it as rows come
-- Empty when: of rows from before this index nothing is known, and they are read
-- A run without NaN and infinity is not read at all by who asks with this very expression (tap.overflows, tap.nan_tensors).
ALTER TABLE tap_store.tensor ADD INDEX IF NOT EXISTS not_finite
    toUInt8(NOT isFinite(value_min) OR NOT isFinite(value_max) OR NOT isFinite(value_mean) OR nan_count + positive_infinity_count + negative_infinity_count > 0)
    TYPE minmax GRANULARITY 1;
