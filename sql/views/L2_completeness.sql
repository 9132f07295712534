-- Question: is everything stored that each rank produced, and what was lost where?
-- Grain: one row per run, rank that was published, stored, refused or expected by the world size
-- Reads: tap.batch_counts, tap.ranks, tap.dead_letters, tap.steps, tap.superseded_steps, tap.unseen_counts, tap_store.run, tap_store.step, tap_store.removal
-- Empty when: no run was published
-- Rows are held against what was promised epoch by epoch, as one epoch's surplus does not make up for another's loss.
-- What was not observed is told beside it: it makes nothing incomplete, but for what was dropped or lost to
-- errors of the observer's own hooks.
-- What stands beside a run, as its logs, makes nobody a rank; 4294967295 is none.
-- What retention removed is told, and its rows are not missing.
-- An epoch all of whose steps were replaced counts for nothing.
WITH
    -- As in tap.runs, which knows more and costs more.
    described AS (
        SELECT
            run_id,
            argMax(tap_store.run.name, (first_event_time_ns, epoch)) AS name,
            tupleElement(argMax(tuple(tap_store.run.world_size), (first_event_time_ns, epoch)), 1) AS world_size
        FROM tap_store.run
        GROUP BY run_id
    ),
    removed AS (
        SELECT
            run_id,
            arrayStringConcat(arraySort(groupUniqArray(concat(part, ' on ', formatDateTime(fromUnixTimestamp64Nano(decided_time_ns, 'UTC'), '%F')))), ', ') AS what,
            max(part = 'details') AS without_details
        FROM tap_store.removal
        GROUP BY run_id
    ),
    batches AS (
        SELECT
            kind,
            run_id,
            rank,
            epoch,
            uniqExact(batch) AS batch_count,
            max(batch) + 1 - uniqExact(batch) AS missing_batch_count,
            sum(row_count) AS row_count
        FROM tap.batch_counts
        WHERE kind NOT IN ('memory', 'collective', 'log', 'metric', 'allocation', 'request_event') OR (run_id, rank) IN (
            SELECT
                run_id,
                rank
            FROM tap.ranks
        )
        GROUP BY
            kind,
            run_id,
            rank,
            epoch
    ),
    epochs AS (
        SELECT
            run_id,
            rank,
            epoch,
            sumIf(row_count, kind = 'tensor') AS stored_row_count,
            sum(batches.batch_count) AS batch_count,
            sum(batches.missing_batch_count) AS missing_batch_count,
            0 AS produced_row_count,
            0 AS step_count,
            0 AS replaced_step_count
        FROM batches
        GROUP BY
            run_id,
            rank,
            epoch
        UNION ALL
        SELECT
            run_id,
            rank,
            epoch,
            0 AS stored_row_count,
            0 AS batch_count,
            0 AS missing_batch_count,
            sum(tensor_count) AS produced_row_count,
            uniqExact(step) AS step_count,
            0 AS replaced_step_count
        FROM tap_store.step
        GROUP BY
            run_id,
            rank,
            epoch
        UNION ALL
        SELECT
            run_id,
            rank,
            epoch,
            0 AS stored_row_count,
            0 AS batch_count,
            0 AS missing_batch_count,
            0 AS produced_row_count,
            0 AS step_count,
            count() AS replaced_step_count
        FROM tap.superseded_steps
        GROUP BY
            run_id,
            rank,
            epoch
    ),
    balanced AS (
        SELECT
            run_id,
            rank,
            epoch,
            sum(epochs.stored_row_count) AS stored_row_count,
            sum(epochs.batch_count) AS batch_count,
            sum(epochs.missing_batch_count) AS missing_batch_count,
            sum(epochs.produced_row_count) AS produced_row_count
        FROM epochs
        GROUP BY
            run_id,
            rank,
            epoch
        HAVING sum(epochs.replaced_step_count) = 0 OR sum(epochs.step_count) > sum(epochs.replaced_step_count)
    ),
    parts AS (
        SELECT
            run_id,
            rank,
            sum(balanced.stored_row_count) AS stored_row_count,
            sum(greatest(balanced.produced_row_count, balanced.stored_row_count) - balanced.stored_row_count) AS missing_row_count,
            sum(greatest(balanced.produced_row_count, balanced.stored_row_count) - balanced.produced_row_count) AS surplus_row_count,
            sum(balanced.batch_count) AS batch_count,
            sum(balanced.missing_batch_count) AS missing_batch_count,
            0 AS observed_step_count,
            sum(balanced.produced_row_count) AS produced_row_count,
            0 AS dropped_count,
            [''] AS drop_reasons,
            0 AS incomplete_step_count,
            0 AS dead_letter_count,
            0 AS last_event_time_ns
        FROM balanced
        GROUP BY
            run_id,
            rank
        UNION ALL
        SELECT
            run_id,
            rank,
            0 AS stored_row_count,
            0 AS missing_row_count,
            0 AS surplus_row_count,
            0 AS batch_count,
            0 AS missing_batch_count,
            uniqExact(step) AS observed_step_count,
            0 AS produced_row_count,
            sum(visible.dropped_count) AS dropped_count,
            groupUniqArray(drop_reason) AS drop_reasons,
            countIf(complete = 0) AS incomplete_step_count,
            0 AS dead_letter_count,
            max(event_time_ns) AS last_event_time_ns
        FROM tap.steps AS visible
        GROUP BY
            run_id,
            rank
        UNION ALL
        -- Subjects are tap.KIND.RUN.RANK; what was refused for its subject counts for no run.
        SELECT
            reinterpretAsUInt64(reverse(unhex(splitByChar('.', subject)[3]))) AS run_id,
            toUInt32OrZero(splitByChar('.', subject)[4]) AS rank,
            0 AS stored_row_count,
            0 AS missing_row_count,
            0 AS surplus_row_count,
            0 AS batch_count,
            0 AS missing_batch_count,
            0 AS observed_step_count,
            0 AS produced_row_count,
            0 AS dropped_count,
            [''] AS drop_reasons,
            0 AS incomplete_step_count,
            count() AS dead_letter_count,
            0 AS last_event_time_ns
        FROM tap.dead_letters
        WHERE match(subject, '^tap\\.[a-z0-9_]+\\.[0-9a-f]{16}\\.[0-9]+$') AND NOT endsWith(subject, '.4294967295')
        GROUP BY
            run_id,
            rank
        UNION ALL
        SELECT
            run_id,
            rank,
            0 AS stored_row_count,
            0 AS missing_row_count,
            0 AS surplus_row_count,
            0 AS batch_count,
            0 AS missing_batch_count,
            0 AS observed_step_count,
            0 AS produced_row_count,
            0 AS dropped_count,
            [''] AS drop_reasons,
            0 AS incomplete_step_count,
            0 AS dead_letter_count,
            0 AS last_event_time_ns
        FROM tap.ranks
        UNION ALL
        SELECT
            run_id,
            toUInt32(arrayJoin(range(assumeNotNull(world_size)))) AS rank,
            0 AS stored_row_count,
            0 AS missing_row_count,
            0 AS surplus_row_count,
            0 AS batch_count,
            0 AS missing_batch_count,
            0 AS observed_step_count,
            0 AS produced_row_count,
            0 AS dropped_count,
            [''] AS drop_reasons,
            0 AS incomplete_step_count,
            0 AS dead_letter_count,
            0 AS last_event_time_ns
        FROM described
        WHERE world_size IS NOT NULL
    ),
    summed AS (
        SELECT
            run_id,
            rank,
            sum(parts.observed_step_count) AS step_count,
            sum(parts.incomplete_step_count) AS incomplete_step_count,
            sum(parts.produced_row_count) AS produced_row_count,
            sum(parts.stored_row_count) AS stored_row_count,
            sum(parts.missing_row_count) AS missing_row_count,
            sum(parts.surplus_row_count) AS surplus_row_count,
            sum(parts.dropped_count) AS dropped_count,
            arraySort(arrayFilter(reason -> reason != '', groupUniqArrayArray(parts.drop_reasons))) AS drop_reasons,
            sum(parts.batch_count) AS batch_count,
            sum(parts.missing_batch_count) AS missing_batch_count,
            sum(parts.dead_letter_count) AS dead_letter_count,
            max(parts.last_event_time_ns) AS last_event_time_ns
        FROM parts
        GROUP BY
            run_id,
            rank
    ),
    unseen_summed AS (
        SELECT
            run_id,
            rank,
            sumIf(reason_count, reason = 'hook error') AS hook_error_count,
            sumIf(reason_count, reason = 'dropped') AS unseen_dropped_count,
            arraySort(groupArray(concat(reason, ' ', toString(reason_count)))) AS unseen
        FROM (
            SELECT
                run_id,
                rank,
                reason,
                sum(counted.unseen_count) AS reason_count
            FROM tap.unseen_counts AS counted
            GROUP BY
                run_id,
                rank,
                reason
        )
        GROUP BY
            run_id,
            rank
    )
SELECT
    summed.run_id AS run_id,
    if(r.name = '', leftPad(lower(hex(summed.run_id)), 16, '0'), r.name) AS run,
    summed.rank AS rank,
    explanation = '' AS complete,
    arrayStringConcat(arrayFilter(part -> part != '', [
        if(stored_row_count = 0 AND step_count = 0, 'nothing was stored', ''),
        if(missing_batch_count > 0, concat(toString(missing_batch_count), ' batches are missing'), ''),
        if(dead_letter_count > 0, concat(toString(dead_letter_count), ' messages could not be stored'), ''),
        if(removed.what != '', concat('retention removed ', removed.what), ''),
        if(missing_row_count > 0 AND removed.without_details = 0, concat(toString(missing_row_count), ' rows are missing'), ''),
        if(dropped_count > 0, concat('the rank dropped ', toString(dropped_count), ' (', arrayStringConcat(drop_reasons, '; '), ')'), ''),
        if(unseen_dropped_count > dropped_count, concat(toString(unseen_dropped_count - dropped_count), ' rows were dropped between steps'), ''),
        if(hook_error_count > 0, concat(toString(hook_error_count), ' calls were lost to errors of hooks'), ''),
        if(incomplete_step_count > 0, concat(toString(incomplete_step_count), ' steps were cut short'), ''),
        if(surplus_row_count > 0, concat(toString(surplus_row_count), ' rows are of steps that have not ended'), '')
    ]), ', ') AS explanation,
    step_count,
    incomplete_step_count,
    produced_row_count,
    stored_row_count,
    dropped_count,
    drop_reasons,
    unseen_summed.unseen AS unseen,
    batch_count,
    missing_batch_count,
    dead_letter_count,
    if(last_event_time_ns = 0, NULL, toNullable(toInt64(last_event_time_ns))) AS last_event_time_ns
FROM summed
LEFT ANY JOIN unseen_summed ON unseen_summed.run_id = summed.run_id AND unseen_summed.rank = summed.rank
LEFT ANY JOIN described AS r ON r.run_id = summed.run_id
LEFT ANY JOIN removed ON removed.run_id = summed.run_id
