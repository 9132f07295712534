-- Question: which messages could not be stored, and why?
-- Grain: one row per refusal (origin, place in the stream, digest)
-- Reads: tap_store.dead_letter
-- Empty when: nothing was published
SELECT
    origin,
    stream_seq,
    stream_time_ns,
    subject,
    headers,
    reason,
    digest,
    size_bytes,
    location
FROM tap_store.dead_letter FINAL
