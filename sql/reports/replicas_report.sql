-- Question: which tensors differ between ranks of one run although they must be the same?
-- Grain: one row per step, micro step, kind, op, role, path, and group of ranks, whose copies differ; in order
-- Reads: tap.observations, tap.meetings, tap.ranks, tap.sites, tap.ops
-- Empty when: all copies that are known to be copies are the same as far as was recorded
-- Shown: step, op, module, role, path, ranks, odd_ranks, evidence, error
-- Parameter run: name of the run.
-- Parameter tolerance = 1e-6: greatest relative difference of statistics or sketches that counts as none; digests must be equal.
-- Parameter first_step = 0: first step.
-- Parameter last_step = -1: last step; -1 for all.
-- Parameter limit = 20: greatest number of rows.
-- Kinds: collective is what all_reduce, broadcast or all_gather left with those who took part; replica a parameter of
-- ranks whose coordinates differ in dp or cp alone. Those must be the same. Of others it is not recorded whether they
-- are copies: parameter (across tp, or of ranks without coordinates, as msProbe writes none) may be shards, and gradient
-- may be seen before its reduction. So they are judged only where the copies of most of three ranks or more agree.
-- Evidence is the strongest that all copies have; those of msProbe and xor stand behind statistics, as they prove less.
-- The copy that the others are held against is that which most ranks have, among equals that of the lowest rank.
WITH
    meeting_sites AS (
        SELECT
            site_id,
            op_id,
            path
        FROM tap.sites
        WHERE role = 'output' AND op_id IN (
            SELECT op_id
            FROM tap.ops
            WHERE level = 'collective' AND match(class_or_api, '^_?(all_reduce|broadcast|all_gather)')
        )
    ),
    parameter_sites AS (
        SELECT
            site_id,
            role
        FROM tap.sites
        WHERE role IN ('parameter', 'parameter_gradient')
    ),
    places AS (
        SELECT
            rank,
            tp,
            pp,
            ep,
            tp >= 0 AND pp >= 0 AND dp >= 0 AS known
        FROM tap.ranks
        WHERE run_id = xxh3(concat({run:String}, char(31)))
    ),
    copies AS (
        SELECT
            step,
            micro_step,
            copy.1 AS kind,
            copy.2 AS copy_key,
            (rank, seq, site_id, value_min, value_max, value_mean, value_l2, measured, digest, digest_kind, sketch) AS taken
        FROM
        (
            SELECT
                seen.rank AS rank,
                seen.step AS step,
                seen.micro_step AS micro_step,
                seen.seq AS seq,
                seen.site_id AS site_id,
                seen.measured AS measured,
                seen.value_min AS value_min,
                seen.value_max AS value_max,
                seen.value_mean AS value_mean,
                seen.value_l2 AS value_l2,
                seen.digest AS digest,
                seen.digest_kind AS digest_kind,
                seen.sketch AS sketch,
                arrayJoin(multiIf(
                    meeting_site.op_id != 0, [('collective', cityHash64(meeting.meeting, meeting_site.path))],
                    parameter_site.role = 'parameter_gradient', [('gradient', cityHash64(seen.site_id, seen.layout_id, place.known, place.pp, place.tp, place.ep))],
                    place.known, [
                        ('replica', cityHash64(seen.site_id, place.pp, place.tp, place.ep)),
                        ('parameter', cityHash64(seen.site_id, seen.layout_id, place.pp, place.ep))],
                    [('parameter', cityHash64(seen.site_id, seen.layout_id))])) AS copy
            FROM tap.observations(run = {run:String}, rank = -1, first_step = {first_step:Int64}, last_step = {last_step:Int64}) AS seen
            LEFT ANY JOIN meeting_sites AS meeting_site ON meeting_site.site_id = seen.site_id
            LEFT ANY JOIN parameter_sites AS parameter_site ON parameter_site.site_id = seen.site_id
            LEFT ANY JOIN places AS place ON place.rank = seen.rank
            LEFT ANY JOIN
            (
                SELECT
                    rank,
                    step,
                    micro_step,
                    op_id,
                    meeting
                FROM tap.meetings(run = {run:String}, first_step = {first_step:Int64}, last_step = {last_step:Int64})
                WHERE takes AND api != 'end of backward'
            ) AS meeting ON meeting.rank = seen.rank AND meeting.step = seen.step AND meeting.micro_step = seen.micro_step AND meeting.op_id = meeting_site.op_id
            WHERE seen.site_id IN (
                SELECT site_id
                FROM meeting_sites
                UNION ALL
                SELECT site_id
                FROM parameter_sites
            )
            AND (meeting_site.op_id = 0 OR meeting.meeting != 0)
        )
    ),
    groups AS (
        SELECT
            step,
            micro_step,
            kind,
            arraySort(groupArray(taken)) AS ones
        FROM copies
        GROUP BY
            step,
            micro_step,
            kind,
            copy_key
        HAVING count() > 1
    ),
    evident AS (
        SELECT
            step,
            micro_step,
            kind,
            ones,
            multiIf(
                arrayAll(one -> one.10 = 3, ones), 'digest',
                arrayAll(one -> notEmpty(one.11) AND length(one.11) = length(ones[1].11), ones), 'sketch',
                arrayAll(one -> bitAnd(one.8, 19) != 0 AND one.8 = ones[1].8, ones), 'statistics',
                arrayAll(one -> one.10 = 1, ones), 'digest(msprobe)',
                arrayAll(one -> one.10 = 2, ones), 'digest(xor)',
                'none') AS evidence
        FROM groups
    ),
    likened AS (
        SELECT
            step,
            micro_step,
            kind,
            ones,
            evidence,
            -- NaN is told from numbers, and is like NaN.
            if(
                startsWith(evidence, 'digest'),
                arrayMap(one -> one.9, ones),
                arrayMap(one -> cityHash64(arrayMap(value -> if(isNaN(value), 'NaN', toString(value)), [one.4, one.5, one.6, one.7]), one.11), ones)) AS likenesses
        FROM evident
    ),
    modelled AS (
        SELECT
            step,
            micro_step,
            kind,
            ones,
            evidence,
            arrayMap(likeness -> likeness != usual, likenesses) AS unlike,
            arraySort(likeness -> (-countEqual(likenesses, likeness), indexOf(likenesses, likeness)), arrayDistinct(likenesses))[1] AS usual,
            ones[indexOf(likenesses, usual)] AS model
        FROM likened
    ),
    measured_apart AS (
        SELECT
            step,
            micro_step,
            kind,
            ones,
            evidence,
            unlike,
            model,
            if(isFinite(model.7) AND model.7 > 0, model.7, greatest(if(isFinite(model.4), abs(model.4), 0.), if(isFinite(model.5), abs(model.5), 0.))) AS scale,
            if(
                evidence = 'sketch',
                arrayMap(one -> sqrt(arraySum((x, y) -> (toFloat64(x) - y) * (toFloat64(x) - y), one.11, arrayResize(model.11, length(one.11)))), ones),
                arrayMap(one -> arrayMax(arrayMap((x, y) -> if(isFinite(x) AND isFinite(y), abs(x - y), if(x = y OR (isNaN(x) AND isNaN(y)), 0., inf)), [one.4, one.5, one.7], [model.4, model.5, model.7])), ones)) AS distances
        FROM modelled
    ),
    judged AS (
        SELECT
            step,
            micro_step,
            kind,
            ones,
            evidence,
            model,
            arrayMap(distance -> multiIf(distance = 0, 0., scale = 0, inf, distance / scale), distances) AS errors,
            if(startsWith(evidence, 'digest'), unlike, arrayMap(error -> NOT (error <= {tolerance:Float64}), errors)) AS odd
        FROM measured_apart
        WHERE evidence != 'none'
    ),
    shown AS (
        SELECT
            step,
            micro_step,
            kind,
            evidence,
            model,
            arrayMap(one -> one.1, ones) AS all_ranks,
            arrayMap(one -> one.1, arrayFilter((one, is_odd) -> is_odd, ones, odd)) AS odd_ranks,
            arrayMax(arrayMap((error, is_odd) -> if(is_odd, error, 0.), errors, odd)) AS error,
            arrayFirst((one, is_odd) -> is_odd, ones, odd) AS other
        FROM judged
        WHERE has(odd, 1) AND (kind IN ('collective', 'replica') OR 2 * arraySum(odd) < length(odd))
    )
SELECT
    shown.step AS step,
    tupleElement(shown.other, 2) AS position,
    shown.kind AS kind,
    multiIf(op.name != '', op.name, site.op_id != 0, leftPad(lower(hex(site.op_id)), 16, '0'), leftPad(lower(hex(tupleElement(shown.other, 3))), 16, '0')) AS op,
    op.module_path AS module,
    site.role AS role,
    site.path AS path,
    shown.all_ranks AS ranks,
    shown.odd_ranks AS odd_ranks,
    shown.evidence AS evidence,
    -- Of digests, what the statistics say beside them.
    if(bitAnd(tupleElement(shown.other, 8), 19) = 0, NULL, toNullable(shown.error)) AS error,
    if(bitTest(tupleElement(shown.model, 8), 0), toNullable(tupleElement(shown.model, 4)), NULL) AS usual_min,
    if(bitTest(tupleElement(shown.other, 8), 0), toNullable(tupleElement(shown.other, 4)), NULL) AS odd_min,
    if(bitTest(tupleElement(shown.model, 8), 1), toNullable(tupleElement(shown.model, 5)), NULL) AS usual_max,
    if(bitTest(tupleElement(shown.other, 8), 1), toNullable(tupleElement(shown.other, 5)), NULL) AS odd_max,
    if(bitTest(tupleElement(shown.model, 8), 4), toNullable(tupleElement(shown.model, 7)), NULL) AS usual_l2,
    if(bitTest(tupleElement(shown.other, 8), 4), toNullable(tupleElement(shown.other, 7)), NULL) AS odd_l2
FROM shown
LEFT ANY JOIN tap.sites AS site ON site.site_id = tupleElement(shown.other, 3)
LEFT ANY JOIN tap.ops AS op ON op.op_id = site.op_id
ORDER BY
    step,
    position,
    op,
    role,
    path,
    kind,
    ranks,
    shown.micro_step
LIMIT {limit:UInt64}
