-- Question: Which ranks did a process of the program make by itself?
-- Grain: as tap_store.rank, one row per row published
-- Reads: nothing; consumers write it
-- Empty when: 0 in rows from before this column
ALTER TABLE tap_store.rank
    ADD COLUMN IF NOT EXISTS `child` UInt8 COMMENT '1 if a process of the program made it by fork or multiprocessing, and it has no place of its own among the ranks; 0 in rows from before this column.' CODEC(ZSTD(1));
