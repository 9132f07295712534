-- Question: which store is behind the stream?
-- Grain: one row per consumer of the stream that is behind
-- Reads: nothing; the alert role measures it
-- Empty when: what was published is stored within that time
-- Severity: warning
-- For: 1m
-- Labels: consumer
-- Group by: consumer
-- Says: store {consumer} is {behind_seconds} s behind the stream, {message_count} messages wait
-- Look: tensortap verify
-- Example: consumer=clickhouse, behind_seconds=95, message_count=1200
-- Parameter consumers = []: what waits for each consumer: name, messages, seconds since the oldest was published.
-- Parameter lag_seconds = 60: a store is behind whose oldest message waits for so long.
-- No table knows when its rows were stored, so the alert role asks the stream and hands the answer in.
SELECT
    waiting.1 AS consumer,
    waiting.2 AS message_count,
    toInt64(waiting.3) AS behind_seconds
FROM (
    SELECT arrayJoin({consumers:Array(Tuple(String, UInt64, Float64))}) AS waiting
)
WHERE message_count > 0 AND waiting.3 >= {lag_seconds:Float64}
ORDER BY consumer
