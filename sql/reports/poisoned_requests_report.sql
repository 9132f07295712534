-- Question: which requests shared a step with the first NaN or infinity of a rank, which of them may have brought it, and which met it later?
-- Grain: one row per request that was in a step that was not finite since the first such step, or that has the prompt of one; the likeliest source first
-- Reads: tap.overflows, tap.sites, tap.layouts, tap.ops, tap.requests, tap.steps
-- Empty when: all activations are finite but for known exceptions, or no step of that kind served a request that is known
-- Shown: request, how, first_step, rank, op, module, phase, row_offset, token_count, not_finite_step_count, finite_step_count, prompt_hash
-- Parameter run: name of the run.
-- Parameter first_step = 0: first step.
-- Parameter last_step = -1: last step; -1 for all.
-- Parameter limit = 100: greatest number of rows.
-- A parameter that holds NaN harms no request that does not read that part of it: only what modules and functions give
-- counts. How: suspect, in a rank's first step that was not finite, and since then in no finite one, as what a request
-- leaves in the KV cache comes back in each of its steps; or later alone in one that was not. If it was finite in no step
-- before that, it brought the NaN, and clears the others. Else it may have met what another left in the cache: it comes
-- after the others. Shared, in that first step, or not finite but in steps of a suspect (an engine may prefill apart), and
-- finite again without, or never without a suspect that clears it. Same prompt, as one of the first step, whose pages a cache of
-- prefixes hands on. Later, in a later step of that kind.
WITH
    bad_steps AS (
        SELECT
            bad.rank AS rank,
            bad.step AS step,
            argMin(site.op_id, bad.seq) AS op_id,
            argMin(bad.nan_count, bad.seq) AS first_nan_count,
            1 AS found
        FROM tap.overflows(run = {run:String}, rank = -1, first_step = {first_step:Int64}, last_step = {last_step:Int64}) AS bad
        INNER JOIN tap.sites AS site ON site.site_id = bad.site_id
        LEFT ANY JOIN tap.layouts AS layout ON layout.layout_id = bad.layout_id
        WHERE NOT bad.excused AND site.role = 'output' AND layout.kind IN ('tensor', '')
        GROUP BY
            rank,
            step
    ),
    -- What a run served beside its steps that were not finite, also those that served nobody: read twice, they took most of the time.
    met_steps AS (
        SELECT
            rank,
            step,
            served.request AS request,
            served.phase AS phase,
            served.row_offset AS row_offset,
            served.token_count AS token_count,
            served.prompt_hash AS prompt_hash,
            served.prompt_token_count AS prompt_token_count,
            bad_steps.found = 1 AS is_bad,
            bad_steps.op_id AS op_id,
            bad_steps.first_nan_count AS first_nan_count,
            min(if(is_bad, toNullable(step), NULL)) OVER (PARTITION BY rank) AS began_step
        FROM bad_steps
        FULL JOIN
        (
            SELECT
                request,
                rank,
                step,
                phase,
                row_offset,
                token_count,
                prompt_hash,
                prompt_token_count
            FROM tap.requests
            WHERE run_id = xxh3(concat({run:String}, char(31)))
        ) AS served USING (rank, step)
    ),
    parts AS (
        SELECT
            m.request AS request,
            m.rank AS rank,
            m.step AS step,
            m.phase AS phase,
            m.row_offset AS row_offset,
            m.token_count AS token_count,
            m.prompt_hash AS prompt_hash,
            m.prompt_token_count AS prompt_token_count,
            m.is_bad AS is_bad,
            m.op_id AS op_id,
            m.first_nan_count AS first_nan_count,
            m.is_bad AND m.step = m.began_step AS in_first,
            -- Ranks may serve a step together, and one of them find what the others do not.
            max(m.is_bad) OVER (PARTITION BY m.request, m.step) = 0 AND seen.complete = 1 AND seen.tensor_count > 0 AND seen.dropped_count = 0 AS is_finite,
            min(m.request) OVER (PARTITION BY m.rank, m.step) = max(m.request) OVER (PARTITION BY m.rank, m.step) AS is_alone
        FROM met_steps AS m
        LEFT ANY JOIN
        (
            SELECT
                rank,
                step,
                complete,
                tensor_count,
                dropped_count
            FROM tap.steps
            WHERE run_id = xxh3(concat({run:String}, char(31)))
        ) AS seen ON seen.rank = m.rank AND seen.step = m.step
        WHERE m.step >= m.began_step
    ),
    judged AS (
        SELECT
            request,
            rank,
            step,
            phase,
            row_offset,
            token_count,
            prompt_hash,
            prompt_token_count,
            is_bad,
            op_id,
            first_nan_count,
            in_first,
            is_finite,
            max(in_first) OVER (PARTITION BY request) = 1 AND max(is_bad AND is_alone) OVER (PARTITION BY request) = 1 AS is_proven,
            -- Finite in between, it may have met what another left in the KV cache.
            is_proven AND ifNull(min(if(is_bad AND is_alone, toNullable(step), NULL)) OVER (PARTITION BY request) < min(if(is_finite, toNullable(step), NULL)) OVER (PARTITION BY request), 1) AS clears_others,
            is_proven OR (max(in_first) OVER (PARTITION BY request) = 1 AND max(is_finite) OVER (PARTITION BY request) = 0) AS is_suspect,
            prompt_hash != 0 AND max(in_first) OVER (PARTITION BY prompt_hash) = 1 AS of_first_prompt
        FROM parts
        WHERE request != ''
    ),
    beside AS (
        SELECT
            request,
            rank,
            step,
            phase,
            row_offset,
            token_count,
            prompt_hash,
            prompt_token_count,
            is_bad,
            op_id,
            first_nan_count,
            in_first,
            is_finite,
            of_first_prompt,
            is_proven,
            is_suspect,
            max(clears_others) OVER (PARTITION BY rank, step) AS with_clearing,
            max(is_suspect) OVER (PARTITION BY rank, step) AS with_suspect
        FROM judged
    ),
    each AS (
        SELECT
            request,
            max(in_first) AS was_in_first,
            max(is_proven) AS was_proven,
            max(is_suspect) AS was_suspect,
            countIf(is_bad AND NOT with_clearing) AS without_clearing_count,
            countIf(is_bad AND NOT with_suspect) AS without_suspect_count,
            countIf(is_bad) AS bad_count,
            countIf(is_finite) AS finite_count,
            argMinIf((rank, step, op_id, phase, row_offset, token_count, first_nan_count), (step, rank), is_bad) AS met,
            max(prompt_hash) AS hash,
            argMax(of_first_prompt, prompt_hash) AS has_first_prompt,
            max(prompt_token_count) AS prompt_tokens
        FROM beside
        GROUP BY request
    )
SELECT
    each.request AS request,
    multiIf(
        was_suspect AND (was_proven OR without_clearing_count > 0), 'suspect',
        was_in_first OR (bad_count > 0 AND without_suspect_count = 0 AND finite_count > 0) OR (bad_count > 0 AND without_clearing_count = 0), 'shared',
        has_first_prompt = 1, 'same prompt',
        'later') AS how,
    if(bad_count > 0, toNullable(met.2), NULL) AS first_step,
    if(bad_count > 0, toNullable(met.1), NULL) AS rank,
    multiIf(bad_count = 0, '', op.name = '', leftPad(lower(hex(met.3)), 16, '0'), op.name) AS op,
    op.module_path AS module,
    met.4 AS phase,
    met.5 AS row_offset,
    if(bad_count > 0, toNullable(met.6), NULL) AS token_count,
    if(bad_count > 0, toNullable(met.7), NULL) AS nan_count,
    bad_count AS not_finite_step_count,
    finite_count AS finite_step_count,
    leftPad(lower(hex(hash)), 16, '0') AS prompt_hash,
    prompt_tokens AS prompt_token_count
FROM each
LEFT ANY JOIN tap.ops AS op ON op.op_id = tupleElement(each.met, 3)
WHERE bad_count > 0 OR how = 'same prompt'
ORDER BY
    indexOf(['suspect', 'shared', 'same prompt', 'later'], how),
    how = 'suspect' AND finite_count > 0,
    not_finite_step_count DESC,
    first_step,
    rank,
    row_offset,
    request
LIMIT {limit:UInt64}
