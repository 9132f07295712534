-- Question: With which parameters did a process begin?
-- Grain: as tap_store.rank, one row per row published
-- Reads: nothing; consumers write it
-- Empty when: empty in rows of ranks that were not recorded live, and in those from before this column
ALTER TABLE tap_store.rank
    ADD COLUMN IF NOT EXISTS `parameters` Map(String, String) COMMENT 'Checksum, dtype and shape of each parameter and saved buffer as the first step began, by name; empty when not read.' CODEC(ZSTD(1));
