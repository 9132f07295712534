-- Question: which parts of which runs did retention remove?
-- Grain: one row per run, part
-- Reads: nothing; who removes them writes it
-- Empty when: no part of a run was removed
-- What is missing of such a part is no loss. Whole runs that were deleted are not here.
CREATE TABLE IF NOT EXISTS tap_store.removal
(
    `run_id` UInt64 COMMENT 'Run.' CODEC(ZSTD(1)),
    `part` LowCardinality(String) COMMENT 'payloads, logs, or details: all but aggregates and verdicts.' CODEC(ZSTD(1)),
    `decided_time_ns` Int64 COMMENT 'When it was decided.' CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree
ORDER BY (run_id, part)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;
