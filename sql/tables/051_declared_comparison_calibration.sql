-- Question: By which run was the tolerance of a comparison measured?
-- Grain: as tap_store.declared_comparison, one row per row published
-- Reads: nothing; consumers write it
-- Empty when: empty in rows of comparisons without one, and in those from before this column
ALTER TABLE tap_store.declared_comparison
    ADD COLUMN IF NOT EXISTS `calibration` String COMMENT 'Name of the run whose distance from the bench measures the tolerance; empty for none.' CODEC(ZSTD(1));
