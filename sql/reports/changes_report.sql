-- Question: what changed since the last build: which places are named now and were not before, or the other way round?
-- Grain: one row per rank, step, op, role, path whose finding changed; new and worse ones first
-- Reads: tap.comparisons, tap.findings
-- Empty when: the same places were named in both comparisons, or there is no earlier one with the same first bench
-- Shown: change, rank, step, op, module, role, path, verdict, was_verdict, error, was_error
-- Parameter problem = '': the later comparison is of this run under suspicion; empty for any.
-- Parameter comparison = '': id of the later comparison, 16 hex digits; empty for the latest.
-- Parameter since = '': id of the earlier one; empty for the one before it with the same first bench, of whatever problem.
-- Parameter ratio = 1.1: an error that is larger or smaller by less than this factor did not change.
-- Parameter limit = 100: greatest number of rows.
-- Builds are runs with names of their own, so the earlier comparison may be of another problem. Not the same question are
-- other flags, other rules, and other benches, whose spread may be the tolerance: what changed may then be the judgement.
WITH
    later AS (
        SELECT
            comparison_id,
            created_time_ns,
            benches[1] AS bench,
            arraySort(benches) AS all_benches,
            question,
            rules
        FROM tap.comparisons
        WHERE ({comparison:String} = '' OR leftPad(lower(hex(comparison_id)), 16, '0') = lower({comparison:String}))
            AND ({problem:String} = '' OR problem = {problem:String})
        ORDER BY
            created_time_ns DESC,
            comparison_id DESC
        LIMIT 1
    ),
    earlier AS (
        SELECT
            made.comparison_id AS comparison_id,
            made.question = later.question
                AND made.rules = later.rules
                AND made.benches[1] = later.bench
                AND arraySort(made.benches) = later.all_benches AS same_question
        FROM tap.comparisons AS made
        CROSS JOIN later
        WHERE made.comparison_id != later.comparison_id
            AND if(
                {since:String} = '',
                made.benches[1] = later.bench AND (made.created_time_ns, made.comparison_id) < (later.created_time_ns, later.comparison_id),
                leftPad(lower(hex(made.comparison_id)), 16, '0') = lower({since:String}))
        ORDER BY
            made.created_time_ns DESC,
            comparison_id DESC
        LIMIT 1
    ),
    -- One finding a place and side: the first, where a place has several micro steps.
    places AS (
        SELECT
            comparison_id,
            comparison_id IN (
                SELECT comparison_id
                FROM later
            ) AS is_later,
            rank,
            step,
            op,
            role,
            path,
            position,
            origin,
            verdict,
            evidence,
            error,
            user_frame,
            module,
            multiIf(verdict = 'not_finite', 3, verdict = 'diverged', 2, verdict = 'structure', 1, 0) AS severity
        FROM tap.findings
        WHERE comparison_id IN (
            SELECT comparison_id
            FROM later
            UNION ALL
            SELECT comparison_id
            FROM earlier
        )
        ORDER BY
            comparison_id,
            position
        LIMIT 1 BY
            comparison_id,
            rank,
            step,
            op,
            role,
            path
    ),
    beside AS (
        SELECT
            rank,
            step,
            op,
            role,
            path,
            countIf(is_later) AS now_count,
            countIf(NOT is_later) AS before_count,
            min(position) AS first_position,
            any(places.module) AS module,
            anyIf(places.severity, is_later) AS now_severity,
            anyIf(places.severity, NOT is_later) AS before_severity,
            anyIf(places.origin, is_later) AS now_origin,
            anyIf(places.origin, NOT is_later) AS before_origin,
            anyIf(places.verdict, is_later) AS now_verdict,
            anyIf(places.verdict, NOT is_later) AS before_verdict,
            anyIf(places.evidence, is_later) AS now_evidence,
            anyIf(places.evidence, NOT is_later) AS before_evidence,
            anyIf(places.error, is_later) AS now_error,
            anyIf(places.error, NOT is_later) AS before_error,
            anyIf(places.user_frame, is_later) AS now_frame,
            anyIf(places.user_frame, NOT is_later) AS before_frame
        FROM places
        GROUP BY
            rank,
            step,
            op,
            role,
            path
    )
SELECT
    multiIf(
        before_count = 0, 'new',
        now_count = 0, 'gone',
        now_severity > before_severity, 'worse',
        now_severity < before_severity, 'better',
        ifNull(now_error > before_error * {ratio:Float64}, false), 'worse',
        ifNull(now_error * {ratio:Float64} < before_error, false), 'better',
        'same') AS change,
    rank,
    step,
    op,
    beside.module AS module,
    role,
    path,
    now_origin = 1 AS origin,
    before_origin = 1 AS was_origin,
    now_verdict AS verdict,
    before_verdict AS was_verdict,
    now_evidence AS evidence,
    before_evidence AS was_evidence,
    now_error AS error,
    before_error AS was_error,
    if(now_count > 0, now_frame, before_frame) AS user_frame,
    later.comparison_id AS comparison_id,
    earlier.comparison_id AS since_id,
    earlier.same_question AS same_question
FROM beside
CROSS JOIN later
CROSS JOIN earlier
WHERE change != 'same'
ORDER BY
    indexOf(['new', 'worse', 'better', 'gone'], change),
    step,
    first_position,
    rank,
    op,
    role,
    path
LIMIT {limit:UInt64}
