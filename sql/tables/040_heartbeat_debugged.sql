-- Question: Since when did a person hold a process up?
-- Grain: as tap_store.heartbeat, one row per row published
-- Reads: nothing; consumers write it
-- Empty when: null in rows of processes that nobody held up, and in those from before this column
ALTER TABLE tap_store.heartbeat
    ADD COLUMN IF NOT EXISTS `debugged_since_time_ns` Nullable(Int64) COMMENT 'Since when a person holds the process up, by the same clock: it waits for a debugger, one is attached, or it stands at a prompt; null when nobody does.' CODEC(ZSTD(1));
