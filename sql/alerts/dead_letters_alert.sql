-- Question: which parts refused messages a short time ago, which are in no table?
-- Grain: one row per consumer or publisher that refused messages
-- Reads: tap.dead_letters
-- Empty when: nothing was refused within that time
-- Severity: warning
-- For: 0s
-- Labels: origin
-- Group by: origin
-- Says: {message_count} messages could not be stored by {origin}; the last one, {subject}: {reason}
-- Look: tensortap report dead-letters
-- Example: origin=clickhouse, message_count=3, subject=tap.tensor.00000000000000aa.0, reason=checksum does not match
-- Parameter recent_seconds = 3600: those of so long ago.
-- Parameter now_ns = -1: time up to which the tables know all, as UTC nanoseconds; -1 for the clock of the database.
SELECT
    origin,
    count() AS message_count,
    argMax(l.subject, (stream_time_ns, stream_seq)) AS subject,
    argMax(l.reason, (stream_time_ns, stream_seq)) AS reason
FROM tap.dead_letters AS l
WHERE stream_time_ns > if({now_ns:Int64} = -1, toUnixTimestamp64Nano(now64(9)), {now_ns:Int64}) - {recent_seconds:Int64} * 1000000000
GROUP BY origin
ORDER BY origin
