-- Question: where did a run first hold NaN or infinity that is not meant to be there?
-- Grain: one row, of the earliest step, or none
-- Reads: tap.overflows, tap.sites, tap.ops
-- Empty when: all that the run recorded is finite, or meant not to be
-- Severity: critical
-- For: 0s
-- Labels: run
-- Group by: run
-- Says: run {run} holds {value} since step {step}: first at rank {rank}, {role} of op {op}
-- Look: tensortap overflow {run}
-- Example: run=nightly, value=NaN, step=120, rank=3, role=output, op=Functional.softmax.2.forward
-- Parameter run: name of the run.
SELECT
    {run:String} AS run,
    if(bad.nan_count > 0 OR isNaN(bad.value_min) OR isNaN(bad.value_max) OR isNaN(bad.value_mean), 'NaN', 'infinity') AS value,
    bad.step AS step,
    bad.rank AS rank,
    site.role AS role,
    if(op.name != '', op.name, leftPad(lower(hex(site.op_id)), 16, '0')) AS op
FROM tap.overflows(run = {run:String}, rank = -1, first_step = 0, last_step = -1) AS bad
LEFT ANY JOIN tap.sites AS site ON site.site_id = bad.site_id
LEFT ANY JOIN tap.ops AS op ON op.op_id = site.op_id
WHERE NOT bad.excused
ORDER BY
    step,
    bad.micro_step,
    bad.seq,
    rank
LIMIT 1
