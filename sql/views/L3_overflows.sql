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
-- Each table is read once: that it is asked for again and again made most of what the reports above it took.
WITH
    excuses AS (
        SELECT
            site_id,
            max(sort = 'negative_infinity') AS masks,
            max(sort IN ('uninitialised', 'not_finite')) AS excuses_all
        FROM tap.excused_sites
        GROUP BY site_id
    ),
    bad AS (
        SELECT
            o.rank AS rank,
            o.step AS step,
            o.micro_step AS micro_step,
            o.seq AS seq,
            o.site_id AS site_id,
            o.layout_id AS layout_id,
            o.measured AS measured,
            o.value_min AS value_min,
            o.value_max AS value_max,
            o.value_mean AS value_mean,
            o.value_l2 AS value_l2,
            o.nan_count AS nan_count,
            o.positive_infinity_count AS positive_infinity_count,
            o.negative_infinity_count AS negative_infinity_count,
            site.op_id AS op_id,
            site.role AS role,
            excuses.masks = 1 AS mask_place,
            excuses.excuses_all = 1 AS excused_place,
            o.layout_id IN (
                SELECT layout_id
                FROM tap.layouts
                WHERE kind NOT IN ('tensor', '')
            ) AS is_argument,
            o.nan_count + o.positive_infinity_count = 0 AND NOT isNaN(o.value_min) AND NOT isNaN(o.value_max) AND NOT isNaN(o.value_mean) AND o.value_max != inf AND o.value_min != inf AS mask_like
        FROM tap.observations(run = {run:String}, rank = {rank:Int64}, first_step = {first_step:Int64}, last_step = {last_step:Int64}) AS o
        LEFT ANY JOIN tap.sites AS site ON site.site_id = o.site_id
        LEFT ANY JOIN excuses ON excuses.site_id = o.site_id
        -- As the index not_finite has it.
        WHERE toUInt8(NOT isFinite(o.value_min) OR NOT isFinite(o.value_max) OR NOT isFinite(o.value_mean) OR o.nan_count + o.positive_infinity_count + o.negative_infinity_count > 0) = 1
    ),
    -- Masks are taken from the first one of the step on.
    begun AS (
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
            op_id,
            role,
            mask_place,
            excused_place,
            is_argument,
            mask_like,
            minIf(seq, mask_like AND mask_place) OVER (PARTITION BY rank, step) AS first_mask
        FROM bad
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
        excused_place, true,
        NOT mask_like, NOT isNaN(value_max) AND is_argument,
        mask_place OR is_argument, true,
        -- Of an op that takes a mask.
        role != '' AND max(mask_like AND first_mask > 0 AND seq > first_mask AND role IN ('input', 'kwarg')) OVER (PARTITION BY rank, step, op_id) = 1) AS excused
FROM begun
