-- Question: How many optimizer steps had the trainer itself counted before a step?
-- Grain: as tap_store.step, one row per row published
-- Reads: nothing; consumers write it
-- Empty when: null in rows of programs without such a trainer, and in those from before this column
ALTER TABLE tap_store.step
    ADD COLUMN IF NOT EXISTS `global_step` Nullable(UInt64) COMMENT 'Optimizer steps that the trainer itself has counted before this one; null when no trainer says.' CODEC(ZSTD(1));
