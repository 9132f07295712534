-- Question: which raw tensors did a run keep, of which ops?
-- Grain: one row per step, rank, op, role, path; in the order in which they were recorded
-- Reads: tap.payloads
-- Empty when: the run kept no raw tensor
-- Shown: step, rank, op, role, path, size_bytes
-- Parameter run: name of the run.
-- Parameter rank = -1: only this rank; -1 for all.
-- Parameter step = -1: only this step; -1 for all.
-- Parameter part = '': only ops with this in their name.
-- Parameter limit = 100: greatest number of rows.
-- The files lie on the host that recorded them, or in the dump that was published.
SELECT
    step,
    rank,
    op,
    role,
    path,
    size_bytes,
    seq,
    location
FROM tap.payloads
WHERE run_id = xxh3(concat({run:String}, char(31)))
    AND ({rank:Int64} < 0 OR rank = {rank:Int64})
    AND ({step:Int64} < 0 OR step = {step:Int64})
    AND positionCaseInsensitiveUTF8(op, {part:String}) > 0
ORDER BY
    step,
    rank,
    seq,
    op,
    role,
    path,
    location
LIMIT 1 BY
    step,
    rank,
    op,
    role,
    path
LIMIT {limit:UInt64}
