-- Question: which two layouts count as the same in a comparison, although something in them differs?
-- Grain: one row per pair of different layouts
-- Reads: tap.layouts, tap.main_dtypes
-- Empty when: no two layouts are that much alike
-- Parameter problem: name of the run under suspicion.
-- Parameter bench: name of the run it is held against.
-- They differ in what changes no number (strides, device, placement), or in a dtype that differs over the whole run,
-- which is said once, as a difference of the runs.
WITH
    (
        SELECT (groupArray(run_id), groupArray(dtype))
        FROM tap.main_dtypes
        WHERE run_id IN (xxh3(concat({problem:String}, char(31))), xxh3(concat({bench:String}, char(31))))
    ) AS dtypes_of_runs,
    (
        arrayFirst((one, of_run) -> of_run = xxh3(concat({problem:String}, char(31))), dtypes_of_runs.2, dtypes_of_runs.1),
        arrayFirst((one, of_run) -> of_run = xxh3(concat({bench:String}, char(31))), dtypes_of_runs.2, dtypes_of_runs.1)
    ) AS main_dtype
SELECT
    p.layout_id AS problem_layout_id,
    b.layout_id AS bench_layout_id
FROM tap.layouts AS p
INNER JOIN tap.layouts AS b ON p.kind = b.kind AND p.shape = b.shape
WHERE p.layout_id != b.layout_id
    AND (p.dtype = b.dtype OR (p.dtype, b.dtype) = main_dtype)
    AND (p.literal = b.literal OR p.kind = 'device' OR (p.kind = 'dtype' AND (p.literal, b.literal) = main_dtype))
    AND (p.requires_grad = b.requires_grad OR p.requires_grad IS NULL OR b.requires_grad IS NULL)
