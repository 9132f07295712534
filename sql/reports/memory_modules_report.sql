-- Question: after which modules does a rank hold more memory than before?
-- Grain: one row per rank, device, op of a module; what adds most comes first
-- Reads: tap.memories
-- Empty when: no live rank of the run measured its memory after modules: `TENSORTAP_MEMORY=1 tensortap run --level L0` does
-- Parameter run: name of the run.
-- Parameter rank = -1: only this rank; -1 for all.
-- Parameter first_step = 0: first step.
-- Parameter last_step = -1: last step; -1 for all.
-- Parameter limit = 100: greatest number of rows.
-- A change is the difference to the look before it in the same step, so that of a module around others is what it adds
-- after the last of them. Memory is what the device's allocator says; where it has none that counts, the resident set.
WITH changes AS (
    SELECT
        rank,
        device,
        op_id,
        op,
        module_path,
        ifNull(toInt64(allocated_bytes), toInt64(host_resident_bytes)) AS bytes,
        bytes - lagInFrame(bytes) OVER (PARTITION BY rank, epoch, device, step ORDER BY seq) AS change,
        row_number() OVER (PARTITION BY rank, epoch, device, step ORDER BY seq) > 1 AS has_before
    FROM tap.memories
    WHERE run_id = xxh3(concat({run:String}, char(31))) AND component = 'all'
        AND ({rank:Int64} = -1 OR rank = {rank:Int64})
        AND step >= {first_step:Int64}
        AND ({last_step:Int64} = -1 OR step <= {last_step:Int64})
)
SELECT
    rank,
    device,
    op,
    any(module_path) AS module,
    count() AS look_count,
    quantileExactIf(0.5)(change, has_before) AS median_change_bytes,
    maxIf(change, has_before) AS greatest_change_bytes,
    quantileExact(0.5)(bytes) AS median_bytes,
    max(bytes) AS greatest_bytes
FROM changes
WHERE op_id != 0
GROUP BY
    rank,
    device,
    op_id,
    op
ORDER BY
    median_change_bytes DESC,
    rank,
    device,
    op
LIMIT {limit:UInt64}
