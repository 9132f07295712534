-- Question: What is a part of the memory for?
-- Grain: as tap_store.memory, one row per row published
-- Reads: nothing; consumers write it
-- Empty when: empty in rows of all of a device or host, and in those from before these columns
ALTER TABLE tap_store.memory
    ADD COLUMN IF NOT EXISTS `component` String COMMENT 'weights, gradients, optimizer, activations, kv or other; empty for all of the device and host. One that cannot be known has no row.' CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS `basis` String COMMENT 'What the bytes of a component rest on: parameters and buffers, block tables and so on; empty for all.' CODEC(ZSTD(1));
