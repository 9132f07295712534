-- Question: what did each rank of a tensor-parallel group hold of the tensors of one op?
-- Grain: one row per micro step, tensor or other argument of the op, rank of the group
-- Reads: tap.observations, tap.shard_groups, tap.sites, tap.layouts
-- Empty when: no rank of the group has the op at that step
-- Shown: rank, role, path, dtype, shape, value_min, value_max, value_mean, value_l2, beyond
-- Parameter run: name of the run.
-- Parameter op: full name of the op.
-- Parameter rank = 0: a rank of the group.
-- Parameter step = 0: step of the run.
-- Parameter least = nan: least value of the whole tensor, of another run; nan if there is none to hold the parts against.
-- Parameter greatest = nan: greatest value of the whole tensor.
-- Parameter root_mean_square = nan: of the values of the whole tensor.
-- No part reaches beyond the whole that it belongs to, so the one that does is wrong; by 1 % it may, of other rounding.
-- How far the mean square of a part is from that of the whole proves nothing: parts of one tensor are often much alike.
WITH
    members AS (
        SELECT
            rank,
            leader
        FROM tap.shard_groups(run = {run:String}, whole_world = 1)
    )
SELECT
    seen.rank AS rank,
    seen.micro_step AS micro_step,
    site.role AS role,
    site.path AS path,
    layout.dtype AS dtype,
    layout.shape AS shape,
    layout.literal AS literal,
    seen.element_count AS element_count,
    if(bitTest(seen.measured, 0), toNullable(seen.value_min), NULL) AS value_min,
    if(bitTest(seen.measured, 1), toNullable(seen.value_max), NULL) AS value_max,
    if(bitTest(seen.measured, 2), toNullable(seen.value_mean), NULL) AS value_mean,
    if(bitTest(seen.measured, 4), toNullable(seen.value_l2), NULL) AS value_l2,
    seen.nan_count + seen.positive_infinity_count + seen.negative_infinity_count AS not_finite_count,
    not_finite_count > 0
        OR (bitTest(seen.measured, 0) AND seen.value_min < {least:Float64} - 0.01 * abs({least:Float64}))
        OR (bitTest(seen.measured, 1) AND seen.value_max > {greatest:Float64} + 0.01 * abs({greatest:Float64})) AS beyond,
    if(bitTest(seen.measured, 4) AND seen.element_count > 0 AND {root_mean_square:Float64} > 0, toNullable(abs(seen.value_l2 / sqrt(seen.element_count) / {root_mean_square:Float64} - 1)), NULL) AS deviation
FROM tap.observations(run = {run:String}, rank = -1, first_step = {step:Int64}, last_step = {step:Int64}) AS seen
LEFT ANY JOIN tap.sites AS site ON site.site_id = seen.site_id
LEFT ANY JOIN tap.layouts AS layout ON layout.layout_id = seen.layout_id
WHERE site.op_id = xxh3(concat({op:String}, char(31))) AND seen.rank IN (
    SELECT rank
    FROM members
    WHERE leader IN (
        SELECT leader
        FROM members
        WHERE rank = {rank:Int64}
    )
)
ORDER BY
    micro_step,
    seen.seq,
    role,
    path,
    rank
