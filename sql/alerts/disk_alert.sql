-- Question: which disk of the database, or room of the stream, is nearly full?
-- Grain: one row per disk, stream
-- Reads: nothing; the alert role measures it
-- Empty when: there is room
-- Severity: critical
-- For: 1m
-- Labels: disk
-- Group by: disk
-- Says: {disk} is nearly full: {free} of {total} are free
-- Look: tensortap query 'SELECT name, path, free_space, total_space FROM system.disks'
-- Example: disk=database default, free=3.20 GiB, total=100.00 GiB
-- Parameter disks = []: what there is: name, bytes that are free, bytes in all.
-- Parameter least_free_ratio = 0.1: less of a disk is too little.
-- The role asks system.disks of the database, and the stream for its limit, and hands the answers in.
SELECT
    room.1 AS disk,
    formatReadableSize(room.2) AS free,
    formatReadableSize(room.3) AS total
FROM (
    SELECT arrayJoin({disks:Array(Tuple(String, UInt64, UInt64))}) AS room
)
WHERE room.3 > 0 AND room.2 < {least_free_ratio:Float64} * room.3
ORDER BY disk
