-- Question: which ops of a step made NaN or infinity, passed it on, or let values grow?
-- Grain: one row per op that has a level
-- Reads: tap.overflows, tap.observations, tap.sites, tap_store.op
-- Empty when: every value is finite and no output is far greater than the inputs
-- Parameter run: name of the run.
-- Parameter rank = 0: rank of the run.
-- Parameter step = 0: step of the run.
-- Parameter growth = 100: how many times greater than the greatest norm of its inputs that of an output may be; where the inputs are 0, the greatest norm that it may have.
-- Parameter limit = 100000: greatest number of rows.
-- The levels are those of msProbe's graph: critical where only outputs are not finite, high where inputs are too or an output grew beyond the bound, medium where
-- only inputs are not finite. What is meant to be infinite, as masks are, counts for nothing.
WITH
    bad AS (
        SELECT
            site_id,
            micro_step
        FROM tap.overflows(run = {run:String}, rank = {rank:Int64}, first_step = {step:Int64}, last_step = {step:Int64})
        WHERE NOT excused
    ),
    seen AS (
        SELECT
            site.op_id AS op_id,
            o.seq AS seq,
            site.role = 'output' AS is_output,
            (o.site_id, o.micro_step) IN (
                SELECT
                    site_id,
                    micro_step
                FROM bad
            ) AS is_bad,
            if(bitTest(o.measured, 4), toNullable(o.value_l2), NULL) AS norm
        FROM tap.observations(run = {run:String}, rank = {rank:Int64}, first_step = {step:Int64}, last_step = {step:Int64}) AS o
        INNER JOIN tap.sites AS site ON site.site_id = o.site_id
        WHERE site.role IN ('input', 'kwarg', 'output')
    ),
    ops AS (
        SELECT
            op_id,
            min(seq) AS first_seq,
            countIf(is_bad AND NOT is_output) AS bad_input_count,
            countIf(is_bad AND is_output) AS bad_output_count,
            maxIf(norm, NOT is_output AND isFinite(norm)) AS greatest_input,
            maxIf(norm, is_output AND isFinite(norm)) AS greatest_output,
            if(greatest_input = 0, greatest_output, greatest_output / greatest_input) AS growth
        FROM seen
        GROUP BY op_id
    )
SELECT
    op.name AS op,
    multiIf(
        bad_output_count > 0, if(bad_input_count > 0, 'high', 'critical'),
        bad_input_count > 0, 'medium',
        'high') AS level,
    bad_input_count,
    bad_output_count,
    growth
FROM ops
LEFT ANY JOIN tap_store.op AS op ON op.op_id = ops.op_id
WHERE bad_input_count + bad_output_count > 0 OR growth > {growth:Float64}
ORDER BY
    first_seq,
    op
LIMIT {limit:UInt64}
