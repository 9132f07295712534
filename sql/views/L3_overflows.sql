-- Question: which tensors of a run hold NaN or infinity, and which of those are meant to?
-- Grain: one row per rank, step, micro step, site that is not finite
-- Reads: tap.observations, tap.excused_sites, tap.sites, tap.layouts
-- Empty when: every minimum, maximum and mean is finite and nothing not finite was counted
-- Parameter run: name of the run.
-- Parameter rank = -1: only this rank; -1 for all.
-- Parameter first_step = 0: first step.
-- Parameter last_step = -1: last step; -1 for all.
-- Excused is what a known exception says, an infinite argument, and a mask of -Inf that is handed on: an input of
-- nothing worse than -Inf after an exception for it in the same step, and what its op makes of it.
-- An infinite norm beside finite elements overflowed in the tensor's own dtype; it is not counted.
WITH
    bad AS (
        SELECT
            rank,
            step,
            micro_step,
            seq,
            site_id,
            layout_id,
            measured,
            value_min,
            value_max,
            value_mean,
            value_l2,
            nan_count,
            positive_infinity_count,
            negative_infinity_count,
            nan_count + positive_infinity_count = 0 AND NOT isNaN(value_min) AND NOT isNaN(value_max) AND NOT isNaN(value_mean) AND value_max != inf AND value_min != inf AS mask_like,
            site_id IN (
                SELECT site_id
                FROM tap.excused_sites
                WHERE sort = 'negative_infinity'
            ) AS mask_place
        FROM tap.observations(run = {run:String}, rank = {rank:Int64}, first_step = {first_step:Int64}, last_step = {last_step:Int64})
        WHERE NOT isFinite(value_min)
            OR NOT isFinite(value_max)
            OR NOT isFinite(value_mean)
            OR nan_count + positive_infinity_count + negative_infinity_count > 0
    ),
    -- Ops that take a mask, from the first one of the step on.
    masked AS (
        SELECT
            taken.rank AS rank,
            taken.step AS step,
            site.op_id AS op_id
        FROM
        (
            SELECT
                rank,
                step,
                seq,
                site_id,
                minIf(seq, mask_place) OVER (PARTITION BY rank, step) AS first_mask
            FROM bad
            WHERE mask_like
        ) AS taken
        INNER JOIN tap.sites AS site ON site.site_id = taken.site_id
        WHERE taken.seq > taken.first_mask AND taken.first_mask > 0 AND site.role IN ('input', 'kwarg')
        GROUP BY
            rank,
            step,
            op_id
    )
SELECT
    rank,
    step,
    micro_step,
    seq,
    site_id,
    layout_id,
    measured,
    value_min,
    value_max,
    value_mean,
    value_l2,
    nan_count,
    positive_infinity_count,
    negative_infinity_count,
    multiIf(
        site_id IN (
            SELECT site_id
            FROM tap.excused_sites
            WHERE sort IN ('uninitialised', 'not_finite')
        ), true,
        NOT mask_like, NOT isNaN(value_max) AND layout_id IN (
            SELECT layout_id
            FROM tap.layouts
            WHERE kind NOT IN ('tensor', '')
        ),
        mask_place OR layout_id IN (
            SELECT layout_id
            FROM tap.layouts
            WHERE kind NOT IN ('tensor', '')
        ), true,
        (rank, step, site_id) IN (
            SELECT
                masked.rank,
                masked.step,
                site.site_id
            FROM masked
            INNER JOIN tap.sites AS site ON site.op_id = masked.op_id
        )) AS excused
FROM bad
