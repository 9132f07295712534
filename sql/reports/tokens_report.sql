-- Question: behind which layer do the tokens of two runs first differ, which tokens, and does the error grow with position, batch or rank?
-- Grain: one row per place of the model at which either run has tokens, in the order of a forward pass
-- Reads: tap.first_tokens, tap.ranks
-- Empty when: neither run was recorded at level tokens
-- Shown: layer, site, verdict, paired_count, alone_count, mean_error, p99_error, max_error, beyond_count, began_count, first_position, first_prompt
-- Parameter problem: name of the run that is looked into.
-- Parameter bench: name of the run that is held to be right.
-- Parameter tolerance = -1: relative error up to which a token is the same; -1 for 1e-3 where all parameters of both are float32 or float64, else 5e-2.
-- Parameter calibrate = '': name of another run of the bench's implementation, in other batches; at each place a token may differ by twice its greatest error against the bench, and the mean by three times its mean; empty for none.
-- Parameter limit = 10000: greatest number of rows.
-- Tokens pair by prompt, sample, position and place; of several that a run has there, the first of its lowest rank counts. The error of a token is its
-- estimated distance over the norm of the bench's, at least the difference of the norms over it; without a norm, infinite unless both have none. A token
-- began to differ at the first place where its error is beyond the tolerance. A sequence that differs at the embedding behind a token that differs
-- somewhere goes on with other tokens: from there on none of its tokens begins, and places before the first where one does only follow. What a
-- calibration allows is at least 1e-3, or 1e-2 where parameters are of less precision than float32.
-- Each run is read in the order in which it is stored, and merged with the bench; the rows of pairs are counted by place and by token at once.
WITH
    ((one, b) -> multiIf(
        NOT (isFinite(one.1) AND isFinite(b.1)), if(one.6 = b.6 AND one.6 > 0, 0., inf),
        b.1 = 0, if(one.1 = 0, 0., inf),
        greatest(
            sqrt((pow(one.2 - b.2, 2) + pow(one.3 - b.3, 2) + pow(one.4 - b.4, 2) + pow(one.5 - b.5, 2)) / 4),
            toFloat64(abs(one.1 - b.1))) / b.1)) AS error_of,
    dtypes AS (
        SELECT
            arrayDistinct(arrayFlatten(groupArray(arrayMap(one -> extract(one, ' ([a-z0-9_]+)'), mapValues(parameters))))) AS names,
            notEmpty(names) AND hasAll(['float32', 'float64'], names) AS are_exact
        FROM tap.ranks
        WHERE run_id IN (xxh3(concat({problem:String}, char(31))), xxh3(concat({bench:String}, char(31))))
    ),
    usual AS (
        SELECT
            multiIf({tolerance:Float64} >= 0, {tolerance:Float64}, are_exact, 1e-3, 5e-2) AS tolerance,
            if(are_exact, 1e-3, 1e-2) AS least
        FROM dtypes
    ),
    noise AS (
        SELECT
            c.layer AS layer,
            c.place AS place,
            count() AS calibrated_count,
            2 * maxIf(error_of((c.norm, c.component_0, c.component_1, c.component_2, c.component_3, c.nan_count), (b.norm, b.component_0, b.component_1, b.component_2, b.component_3, b.nan_count)) AS error, isFinite(error)) AS band,
            3 * avgIf(error, isFinite(error)) AS mean_band
        FROM tap.first_tokens(run = {calibrate:String}) AS c
        INNER JOIN tap.first_tokens(run = {bench:String}) AS b ON b.layer = c.layer AND b.place = c.place AND b.prompt_hash = c.prompt_hash AND b.sample = c.sample AND b.position = c.position
        WHERE {calibrate:String} != ''
        GROUP BY
            layer,
            place
    ),
    -- Of each place by its number, and of a place that is none, as no array may be empty.
    calibrated AS (
        SELECT
            arrayPushBack(groupArray(layer * 8 + place), 4294967295) AS at,
            arrayPushBack(groupArray(calibrated_count), 0) AS counts,
            arrayPushBack(groupArray(if({tolerance:Float64} >= 0, {tolerance:Float64}, greatest(band, (SELECT least FROM usual)))), 0.) AS bands,
            arrayPushBack(groupArray(if({tolerance:Float64} >= 0, inf, greatest(mean_band, (SELECT least FROM usual)))), 0.) AS mean_bands
        FROM noise
    ),
    errors AS (
        SELECT
            if(p.place > 0, p.layer, b.layer) AS layer,
            if(p.place > 0, p.place, b.place) AS place,
            if(p.place > 0, p.prompt_hash, b.prompt_hash) AS prompt_hash,
            if(p.place > 0, p.sample, b.sample) AS sample,
            if(p.place > 0, p.position, b.position) AS position,
            p.row_count AS row_count,
            p.rank AS rank,
            p.place > 0 AND b.place > 0 AS is_pair,
            is_pair AND isFinite(p.norm) AND isFinite(b.norm) AS usable,
            error_of((p.norm, p.component_0, p.component_1, p.component_2, p.component_3, p.nan_count), (b.norm, b.component_0, b.component_1, b.component_2, b.component_3, b.nan_count)) AS error,
            is_pair AND error > transform(layer * 8 + place, (SELECT at FROM calibrated), (SELECT bands FROM calibrated), (SELECT tolerance FROM usual)) AS beyond,
            if(beyond, prompt_hash, 0) AS beyond_prompt,
            if(beyond, sample, 0) AS beyond_sample,
            if(beyond, position, 0) AS beyond_position
        FROM tap.first_tokens(run = {problem:String}) AS p
        FULL JOIN tap.first_tokens(run = {bench:String}) AS b ON b.layer = p.layer AND b.place = p.place AND b.prompt_hash = p.prompt_hash AND b.sample = p.sample AND b.position = p.position
    ),
    -- A row for each place, and one, at no place, for each token that is beyond; all others make one.
    counted AS (
        SELECT
            layer,
            place,
            (beyond_position, beyond_prompt, beyond_sample) AS token,
            min(if(beyond, (layer, place), (65535, 0))) AS began,
            countIf(is_pair) AS paired_count,
            countIf(NOT is_pair) AS alone_count,
            avgIf(error, usable) AS mean_error,
            quantileIf(0.99)(error, usable) AS p99_error,
            maxIf(error, is_pair) AS max_error,
            countIf(beyond) AS beyond_count,
            argMaxIf((position, prompt_hash, sample), error, beyond) AS worst,
            corrIf(error, toFloat64(position), usable) AS position_growth,
            corrIf(error, toFloat64(row_count), usable) AS batch_growth,
            corrIf(error, toFloat64(rank), usable) AS rank_growth
        FROM errors
        GROUP BY
            GROUPING SETS (
                (layer, place),
                (beyond_prompt, beyond_sample, beyond_position)
            )
    ),
    -- Whether a token that is beyond is so by itself, and not since its sequence goes on with other tokens.
    followed AS (
        SELECT
            layer,
            place,
            token,
            began,
            paired_count,
            alone_count,
            mean_error,
            p99_error,
            max_error,
            beyond_count,
            worst,
            position_growth,
            batch_growth,
            rank_growth,
            min(token.1) OVER (PARTITION BY place = 0, token.2, token.3) AS first_beyond,
            maxIf(token.1, began = (0, 1)) OVER (PARTITION BY place = 0, token.2, token.3 ORDER BY token.1) AS last_other,
            place = 0 AND last_other <= first_beyond AS is_own
        FROM counted
    ),
    places AS (
        SELECT
            tupleElement(at, 1) AS layer,
            tupleElement(at, 2) AS place,
            countIf(counted.is_own) AS began_count,
            minIf(counted.token, counted.is_own) AS first,
            anyIf(counted.paired_count, counted.place > 0) AS paired_count,
            anyIf(counted.alone_count, counted.place > 0) AS alone_count,
            anyIf(counted.mean_error, counted.place > 0) AS mean_error,
            anyIf(counted.p99_error, counted.place > 0) AS p99_error,
            anyIf(counted.max_error, counted.place > 0) AS max_error,
            anyIf(counted.beyond_count, counted.place > 0) AS beyond_count,
            transform(layer * 8 + place, (SELECT at FROM calibrated), (SELECT mean_bands FROM calibrated), inf) AS mean_allowed,
            beyond_count > 0 OR mean_error > mean_allowed AS is_off,
            is_off AND (began_count > 0 OR beyond_count = 0) AS is_origin,
            anyIf(counted.worst, counted.place > 0) AS worst,
            anyIf(counted.position_growth, counted.place > 0) AS position_growth,
            anyIf(counted.batch_growth, counted.place > 0) AS batch_growth,
            anyIf(counted.rank_growth, counted.place > 0) AS rank_growth
        FROM followed AS counted
        WHERE counted.place > 0 OR counted.beyond_count > 0
        GROUP BY if(counted.place > 0, (counted.layer, counted.place), counted.began) AS at
    )
SELECT
    layer,
    ['embedding', 'attention', 'router', 'residual stream', 'logits'][place] AS site,
    multiIf(
        paired_count = 0, 'nothing pairs',
        NOT is_off, 'same',
        (layer, place) = (min(if(is_origin, (layer, place), (65535, 255))) OVER () AS start), 'begins',
        (layer, place) < start, 'follows',
        'differs') AS verdict,
    paired_count,
    alone_count,
    if(isFinite(mean_error), mean_error, NULL) AS mean_error,
    if(isFinite(p99_error), p99_error, NULL) AS p99_error,
    if(paired_count = 0, NULL, max_error) AS max_error,
    beyond_count,
    began_count,
    if(began_count = 0, NULL, tupleElement(first, 1)) AS first_position,
    if(began_count = 0, '', leftPad(lower(hex(tupleElement(first, 2))), 16, '0')) AS first_prompt,
    if(began_count = 0, NULL, tupleElement(first, 3)) AS first_sample,
    if(beyond_count = 0, NULL, worst.1) AS worst_position,
    if(beyond_count = 0, '', leftPad(lower(hex(worst.2)), 16, '0')) AS worst_prompt,
    if(beyond_count = 0, NULL, worst.3) AS worst_sample,
    if(isFinite(position_growth), position_growth, NULL) AS position_growth,
    if(isFinite(batch_growth), batch_growth, NULL) AS batch_growth,
    if(isFinite(rank_growth), rank_growth, NULL) AS rank_growth,
    transform(layer * 8 + place, (SELECT at FROM calibrated), (SELECT bands FROM calibrated), (SELECT tolerance FROM usual)) AS tolerance,
    if(isFinite(mean_allowed), mean_allowed, NULL) AS mean_tolerance,
    transform(layer * 8 + place, (SELECT at FROM calibrated), (SELECT counts FROM calibrated), 0) AS calibrated_count
FROM places
ORDER BY
    layer,
    place
LIMIT {limit:UInt64}
SETTINGS join_algorithm = 'full_sorting_merge'
