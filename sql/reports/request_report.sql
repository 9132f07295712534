-- Question: what became of one request, when, in which process, step and rank?
-- Grain: one row per moment that a file or a log tells of, and per step and rank that served it; in order of time
-- Reads: tap_store.request_event, tap.requests, tap.steps, tap.ranks, tap.failures
-- Empty when: neither the collector nor any file that was published names such a request
-- Shown: request, event_time_ns, after_ms, since_before_ms, moment, role, rank, step, first_position, token_count, batch_request_count, step_ms, reason
-- Parameter run: name of the run.
-- Parameter id: the name of the request that its client got; a trailing * stands for any ending.
-- Parameter limit = 1000: greatest number of rows.
-- Several files may tell of one moment: the same moment of a role counts once within a millisecond. Role http is where the
-- request came in and its answer went out, as the collector saw them; the engine's own processes tell of themselves. Inside vLLM a request
-- has more behind its name, and before it the number of the answer where several are asked for: all are one request.
WITH
    endsWith({id:String}, '*') AS open_ended,
    if(open_ended, substring({id:String}, 1, length({id:String}) - 1), {id:String}) AS wanted,
    -- What vLLM puts behind the name: of a text, which of the prompts it is; and of either, eight digits.
    if(startsWith(wanted, 'cmpl-'), '^(-[0-9]+)?(-[0-9a-f]{8})?$', '^(-[0-9a-f]{8})?$') AS inner,
    told AS (
        SELECT
            request,
            -- And before it: which of several answers to one prompt.
            replaceRegexpOne(request, '^[0-9]+_', '') AS own,
            moment,
            role,
            intDiv(event_time_ns, 1000000) AS at_ms,
            min(event_time_ns) AS told_time_ns,
            any(rank) AS any_rank,
            any(step) AS any_step,
            any(pid) AS any_pid,
            max(reason) AS any_reason,
            max(prompt_hash) AS any_hash,
            max(prompt_token_count) AS prompt_tokens,
            max(output_token_count) AS output_tokens,
            anyLast(fields) AS any_fields
        FROM tap_store.request_event
        WHERE run_id = xxh3(concat({run:String}, char(31)))
            AND (request = wanted OR startsWith(own, wanted) AND (open_ended OR match(substring(own, length(wanted) + 1), inner)))
        GROUP BY
            request,
            moment,
            role,
            at_ms
    ),
    served AS (
        SELECT
            request,
            replaceRegexpOne(request, '^[0-9]+_', '') AS own,
            rank,
            step,
            phase,
            seq,
            event_time_ns,
            prompt_hash,
            prompt_token_count,
            first_position,
            token_count,
            row_offset
        FROM tap.requests
        WHERE run_id = xxh3(concat({run:String}, char(31)))
            AND (request = wanted OR startsWith(own, wanted) AND (open_ended OR match(substring(own, length(wanted) + 1), inner)))
    ),
    around AS (
        SELECT
            rank,
            step,
            count() AS batch_requests
        FROM tap.requests
        WHERE run_id = xxh3(concat({run:String}, char(31)))
            AND (rank, step) IN (
                SELECT
                    rank,
                    step
                FROM served
            )
        GROUP BY
            rank,
            step
    ),
    ran AS (
        SELECT
            rank,
            step,
            begin_time_ns,
            end_time_ns,
            complete
        FROM tap.steps
        WHERE run_id = xxh3(concat({run:String}, char(31)))
    ),
    raised AS (
        SELECT
            rank,
            step,
            any(concat(type, ': ', message)) AS said
        FROM tap.failures
        WHERE run_id = xxh3(concat({run:String}, char(31)))
        GROUP BY
            rank,
            step
    ),
    -- The request by the name that its client has.
    outer_names AS (
        SELECT
            concat(request, '-') AS beginning,
            request AS outer_name
        FROM told
        GROUP BY request
    ),
    moments AS (
        SELECT
            told.request AS request,
            told.told_time_ns AS at_ns,
            told.moment AS moment,
            told.role AS role,
            if(told.any_rank = 4294967295, NULL, toNullable(told.any_rank)) AS rank,
            told.any_step AS step,
            told.any_pid AS pid,
            told.any_reason AS reason,
            told.any_hash AS prompt_hash,
            told.prompt_tokens AS prompt_token_count,
            told.output_tokens AS output_token_count,
            NULL AS first_position,
            NULL AS token_count,
            NULL AS row_offset,
            NULL AS batch_request_count,
            NULL AS step_ns,
            told.any_fields AS fields
        FROM told
        UNION ALL
        SELECT
            served.request AS request,
            served.event_time_ns AS at_ns,
            served.phase AS moment,
            'worker' AS role,
            toNullable(served.rank) AS rank,
            toNullable(served.step) AS step,
            process.pid AS pid,
            multiIf(raised.said != '', raised.said, ran.complete = 0, 'the step was cut short', '') AS reason,
            served.prompt_hash AS prompt_hash,
            served.prompt_token_count AS prompt_token_count,
            NULL AS output_token_count,
            served.first_position AS first_position,
            toNullable(served.token_count) AS token_count,
            served.row_offset AS row_offset,
            toNullable(around.batch_requests) AS batch_request_count,
            ran.end_time_ns - ran.begin_time_ns AS step_ns,
            map() AS fields
        FROM served
        LEFT ANY JOIN around ON around.rank = served.rank AND around.step = served.step
        LEFT ANY JOIN ran ON ran.rank = served.rank AND ran.step = served.step
        LEFT ANY JOIN raised ON raised.rank = served.rank AND raised.step = served.step
        LEFT ANY JOIN
        (
            SELECT
                rank,
                pid
            FROM tap.ranks
            WHERE run_id = xxh3(concat({run:String}, char(31)))
        ) AS process ON process.rank = served.rank
    )
SELECT
    moments.request AS request,
    at_ns AS event_time_ns,
    (at_ns - first_value(at_ns) OVER lives) / 1000000 AS after_ms,
    (at_ns - lagInFrame(at_ns, 1, at_ns) OVER lives) / 1000000 AS since_before_ms,
    moment,
    role,
    rank,
    step,
    first_position,
    token_count,
    row_offset,
    batch_request_count,
    step_ns / 1000000 AS step_ms,
    reason,
    leftPad(lower(hex(prompt_hash)), 16, '0') AS prompt_hash,
    prompt_token_count,
    output_token_count,
    pid,
    fields
FROM moments
LEFT ANY JOIN outer_names ON outer_names.beginning = replaceRegexpOne(replaceRegexpOne(moments.request, '^[0-9]+_', ''), '[0-9a-f]{8}$', '')
WINDOW lives AS (
    PARTITION BY if(outer_name = '', moments.request, outer_name)
    ORDER BY
        at_ns,
        indexOf(['received', 'tokenised', 'scheduled', 'prefill', 'decode', 'finished', 'aborted', 'unfinished'], moment),
        step,
        rank,
        moments.request
    ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
)
ORDER BY
    if(outer_name = '', moments.request, outer_name),
    event_time_ns,
    indexOf(['received', 'tokenised', 'scheduled', 'prefill', 'decode', 'finished', 'aborted', 'unfinished'], moment),
    step,
    rank,
    request
LIMIT {limit:UInt64}
