-- Question: which messages could not be stored, and why?
-- Grain: one row per refusal, latest first
-- Reads: tap.dead_letters
-- Empty when: nothing was refused
-- Parameter limit = 100: greatest number of rows.
SELECT
    stream_time_ns,
    origin,
    subject,
    reason,
    size_bytes,
    stream_seq,
    leftPad(lower(hex(digest)), 16, '0') AS digest_hex,
    location,
    headers
FROM tap.dead_letters
ORDER BY
    stream_time_ns DESC,
    origin,
    stream_seq,
    digest
LIMIT {limit:UInt64}
