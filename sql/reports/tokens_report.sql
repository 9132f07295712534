-- Question: behind which layer do the tokens of two runs first differ, which tokens, and does the error grow with position, batch or rank?
-- Grain: one row per place of the model at which either run has tokens, in the order of a forward pass
-- Reads: tap.token_sites, tap.ranks
-- Empty when: neither run was recorded at level tokens
-- Shown: layer, site, verdict, paired_count, alone_count, mean_error, p99_error, max_error, beyond_count, began_count, first_position, first_prompt
-- Parameter problem: name of the run that is looked into.
-- Parameter bench: name of the run that is held to be right.
-- Parameter tolerance = -1: relative error up to which a token is the same; -1 for 1e-3 where all parameters of both are float32 or float64, else 5e-2.
-- Parameter calibrate = '': name of another run of the bench's implementation, in other batches; at each place a token may differ by twice its greatest error against the bench, and the mean by three times its mean; empty for none.
-- Parameter limit = 10000: greatest number of rows.
-- Tokens pair by prompt, sample, position and place; of several that a run has there, the first of its lowest rank counts. The error of a token is its
-- estimated distance over the norm of the bench's, at least the difference of the norms over it; without a norm, infinite unless both have none. A token
-- began to differ at the first place where its error is beyond the tolerance. What a calibration allows is at least 1e-3, or 1e-2 where parameters are of
-- less precision than float32.
WITH
    ((one, b) -> multiIf(
        NOT (isFinite(one.1) AND isFinite(b.1)), if(one.6 = b.6 AND one.6 > 0, 0., inf),
        b.1 = 0, if(one.1 = 0, 0., inf),
        greatest(
            sqrt((pow(one.2 * one.1 - b.2 * b.1, 2) + pow(one.3 * one.1 - b.3 * b.1, 2) + pow(one.4 * one.1 - b.4 * b.1, 2) + pow(one.5 * one.1 - b.5 * b.1, 2)) / 4),
            toFloat64(abs(one.1 - b.1))) / b.1)) AS error_of,
    told AS (
        SELECT
            layer,
            place,
            any(site) AS name,
            prompt_hash,
            sample,
            position,
            countIf(run_id = xxh3(concat({problem:String}, char(31)))) > 0 AS in_problem,
            countIf(run_id = xxh3(concat({bench:String}, char(31)))) > 0 AS in_bench,
            argMinIf((norm, sum_0, sum_1, sum_2, sum_3, nan_count, row_count, rank), (rank, epoch, step), run_id = xxh3(concat({problem:String}, char(31)))) AS p,
            argMinIf((norm, sum_0, sum_1, sum_2, sum_3, nan_count, row_count, rank), (rank, epoch, step), run_id = xxh3(concat({bench:String}, char(31)))) AS b
        FROM tap.token_sites
        WHERE run_id IN (xxh3(concat({problem:String}, char(31))), xxh3(concat({bench:String}, char(31))))
        GROUP BY
            layer,
            place,
            prompt_hash,
            sample,
            position
    ),
    errors AS (
        SELECT
            layer,
            place,
            name,
            prompt_hash,
            sample,
            position,
            in_problem AND in_bench AS is_pair,
            p.7 AS row_count,
            p.8 AS rank,
            is_pair AND isFinite(p.1) AND isFinite(b.1) AS usable,
            error_of(p, b) AS error
        FROM told
    ),
    dtypes AS (
        SELECT
            arrayDistinct(arrayFlatten(groupArray(arrayMap(one -> extract(one, ' ([a-z0-9_]+)'), mapValues(parameters))))) AS names,
            notEmpty(names) AND hasAll(['float32', 'float64'], names) AS are_exact
        FROM tap.ranks
        WHERE run_id IN (xxh3(concat({problem:String}, char(31))), xxh3(concat({bench:String}, char(31))))
    ),
    noise AS (
        SELECT
            layer,
            place,
            count() AS calibrated_count,
            2 * maxIf(error_of(c, b) AS error, isFinite(error)) AS band,
            3 * avgIf(error, isFinite(error)) AS mean_band
        FROM
        (
            SELECT
                layer,
                place,
                argMinIf((norm, sum_0, sum_1, sum_2, sum_3, nan_count), (rank, epoch, step), run_id = xxh3(concat({calibrate:String}, char(31)))) AS c,
                argMinIf((norm, sum_0, sum_1, sum_2, sum_3, nan_count), (rank, epoch, step), run_id = xxh3(concat({bench:String}, char(31)))) AS b
            FROM tap.token_sites
            WHERE {calibrate:String} != '' AND run_id IN (xxh3(concat({calibrate:String}, char(31))), xxh3(concat({bench:String}, char(31))))
            GROUP BY
                layer,
                place,
                prompt_hash,
                sample,
                position
            HAVING uniqExact(run_id) = 2
        )
        GROUP BY
            layer,
            place
    ),
    judged AS (
        SELECT
            layer,
            place,
            name,
            prompt_hash,
            sample,
            position,
            is_pair,
            usable,
            row_count,
            rank,
            error,
            if((SELECT are_exact FROM dtypes), 1e-3, 1e-2) AS least,
            noise.calibrated_count > 0 AND {tolerance:Float64} < 0 AS is_calibrated,
            if(is_calibrated, greatest(noise.mean_band, least), inf) AS mean_allowed,
            multiIf(
                {tolerance:Float64} >= 0, {tolerance:Float64},
                is_calibrated, greatest(noise.band, least),
                (SELECT are_exact FROM dtypes), 1e-3,
                5e-2) AS allowed,
            noise.calibrated_count AS calibrated_count,
            is_pair AND error > allowed AS beyond
        FROM errors
        LEFT JOIN noise ON noise.layer = errors.layer AND noise.place = errors.place
    ),
    began AS (
        SELECT
            at.1 AS layer,
            at.2 AS place,
            count() AS began_count,
            min((position, prompt_hash, sample)) AS first
        FROM
        (
            SELECT
                prompt_hash,
                sample,
                position,
                min((layer, place)) AS at
            FROM judged
            WHERE beyond
            GROUP BY
                prompt_hash,
                sample,
                position
        )
        GROUP BY
            layer,
            place
    ),
    places AS (
        SELECT
            layer,
            place,
            any(name) AS site,
            any(allowed) AS tolerance,
            any(calibrated_count) AS calibrated_count,
            any(mean_allowed) AS mean_tolerance,
            countIf(is_pair) AS paired_count,
            countIf(NOT is_pair) AS alone_count,
            avgIf(error, usable) AS mean_error,
            quantileIf(0.99)(error, usable) AS p99_error,
            maxIf(error, is_pair) AS max_error,
            countIf(beyond) AS beyond_count,
            beyond_count > 0 OR mean_error > mean_tolerance AS is_off,
            argMaxIf((position, prompt_hash, sample), error, beyond) AS worst,
            corrIf(error, toFloat64(position), usable) AS position_growth,
            corrIf(error, toFloat64(row_count), usable) AS batch_growth,
            corrIf(error, toFloat64(rank), usable) AS rank_growth
        FROM judged
        GROUP BY
            layer,
            place
    )
SELECT
    places.layer AS layer,
    places.site AS site,
    multiIf(
        paired_count = 0, 'nothing pairs',
        NOT is_off, 'same',
        (layer, places.place) = min(if(is_off, (layer, places.place), (65535, 255))) OVER (), 'begins',
        'differs') AS verdict,
    paired_count,
    alone_count,
    if(isFinite(mean_error), mean_error, NULL) AS mean_error,
    if(isFinite(p99_error), p99_error, NULL) AS p99_error,
    if(paired_count = 0, NULL, max_error) AS max_error,
    beyond_count,
    began.began_count AS began_count,
    if(began_count = 0, NULL, tupleElement(began.first, 1)) AS first_position,
    if(began_count = 0, '', lower(hex(tupleElement(began.first, 2)))) AS first_prompt,
    if(began_count = 0, NULL, tupleElement(began.first, 3)) AS first_sample,
    if(beyond_count = 0, NULL, worst.1) AS worst_position,
    if(beyond_count = 0, '', lower(hex(worst.2))) AS worst_prompt,
    if(isFinite(position_growth), position_growth, NULL) AS position_growth,
    if(isFinite(batch_growth), batch_growth, NULL) AS batch_growth,
    if(isFinite(rank_growth), rank_growth, NULL) AS rank_growth,
    tolerance,
    if(isFinite(mean_tolerance), mean_tolerance, NULL) AS mean_tolerance,
    calibrated_count
FROM places
LEFT JOIN began ON began.layer = places.layer AND began.place = places.place
ORDER BY
    places.layer,
    places.place
LIMIT {limit:UInt64}
