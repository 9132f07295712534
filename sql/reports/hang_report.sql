-- Question: which collective waits for a rank, for which, since when, and which was called in another way by some rank?
-- Grain: one row per process_group, point_to_point, group_seq that is not complete for longer than asked, or that ranks called with different things; what began first comes first
-- Reads: tap.collectives, tap.heartbeats, tap.runs, tap.stacks
-- Empty when: no call waits for so long and all ranks called the same, or no collectives of the run were recorded
-- Shown: process_group, group_seq, name, problem, missing_ranks, waiting_ranks, different, waited_seconds, missing_are, user_frame
-- Parameter run: name of the run.
-- Parameter waiting_seconds = 10: of a live run, calls that wait for so long.
-- Parameter now_ns = -1: what to take for now, as UTC nanoseconds; -1 for the clock of the database.
-- Parameter silent_seconds = 25: a rank that gave no sign of life for so long is silent.
-- Parameter limit = 100: at most so many rows.
-- Of each rank's calls the last ones may be all that is kept: only numbers that all ranks still have are compared.
-- Of files, and of a run that is over, whatever is not complete is shown.
-- A rank of which nothing was heard may only start late: of a live run, a call that waits for such ranks alone is shown after a minute.
-- While a person holds up a rank of a live run, as in a debugger, to wait for it is no hang.
WITH
    heard AS (
        SELECT
            rank,
            state,
            event_time_ns,
            debugged_since_time_ns
        FROM tap.heartbeats
        WHERE run_id = xxh3(concat({run:String}, char(31)))
    ),
    (SELECT (count(), countIf(state = 'running'), max(event_time_ns)) FROM heard) AS life,
    (SELECT countIf(state = 'running' AND isNotNull(debugged_since_time_ns)) FROM heard) AS debugged_count,
    (SELECT count() FROM tap.runs WHERE run_id = xxh3(concat({run:String}, char(31))) AND source = 'collector') AS live_count,
    (live_count > 0 OR life.1 > 0) AND (life.1 = 0 OR life.2 > 0) AS goes_on,
    multiIf({now_ns:Int64} != -1, {now_ns:Int64}, goes_on, toUnixTimestamp64Nano(now64(9)), life.3) AS now,
    calls AS (
        SELECT
            rank,
            process_group,
            point_to_point,
            group_seq,
            group_ranks,
            step,
            name,
            inputs,
            state,
            called_time_ns,
            stack_id,
            if(
                name IN ('all_reduce', 'all_reduce_coalesced', 'allreduce_coalesced', 'broadcast', 'reduce', 'all_gather_into_tensor', '_all_gather_base',
                    'reduce_scatter_tensor', '_reduce_scatter_base'),
                concat(name, ' ', inputs), name) AS signature,
            inputs != '' AS has_inputs
        FROM tap.collectives
        WHERE run_id = xxh3(concat({run:String}, char(31)))
    ),
    spans AS (
        SELECT
            process_group,
            rank,
            min(group_seq) AS first_seq,
            max(group_seq) AS last_seq,
            argMax(concat(name, if(isNull(step), '', concat(' in step ', toString(step)))), group_seq) AS last_name,
            argMax(group_ranks, length(group_ranks)) AS known_ranks
        FROM calls
        WHERE point_to_point = 0
        GROUP BY
            process_group,
            rank
    ),
    members AS (
        SELECT
            process_group,
            max(first_seq) AS compared_from,
            argMax(known_ranks, length(known_ranks)) AS told_ranks,
            arraySort(if(empty(told_ranks), groupArray(toInt64(rank)), told_ranks)) AS group_members,
            mapFromArrays(groupArray(toInt64(rank)), groupArray(last_seq)) AS last_seqs,
            mapFromArrays(groupArray(toInt64(rank)), groupArray(concat('last call ', toString(last_seq), ' ', last_name))) AS last_calls
        FROM spans
        GROUP BY process_group
    ),
    mapFromArrays(
        (SELECT groupArray(toInt64(rank)) FROM heard),
        (SELECT groupArray(multiIf(state != 'running', state, now - event_time_ns > {silent_seconds:Int64} * 1000000000, 'silent', 'running')) FROM heard)) AS lives,
    together AS (
        SELECT
            process_group,
            point_to_point,
            if(point_to_point = 1, rank, 0) AS sender,
            group_seq,
            topK(1)(name)[1] AS first_name,
            arraySort(groupArray(toInt64(rank))) AS arrived,
            arraySort(groupArrayIf(toInt64(rank), state != 'completed')) AS unfinished,
            countIf(state IN ('called', 'started') OR (live_count = 0 AND life.1 = 0 AND state != 'completed')) AS stuck_count,
            min(called_time_ns) AS since,
            minIf(called_time_ns, state != 'completed') AS unfinished_since,
            uniqExact(name) > 1 OR uniqExactIf(signature, has_inputs) > 1 AS is_mixed,
            topKIf(1)(signature, has_inputs OR NOT match(signature, ' '))[1] AS usual,
            arraySort(groupArray((toInt64(rank), signature))) AS by_rank,
            argMinIf(stack_id, (called_time_ns, rank), state != 'completed') AS stack
        FROM calls
        GROUP BY
            process_group,
            point_to_point,
            sender,
            group_seq
    ),
    judged AS (
        SELECT
            t.process_group AS process_group,
            t.point_to_point AS point_to_point,
            t.group_seq AS group_seq,
            t.first_name AS name,
            t.arrived AS arrived,
            t.unfinished AS unfinished,
            t.since AS since,
            t.stack AS stack,
            if(t.point_to_point = 1, [], arrayFilter(member -> NOT has(t.arrived, member) AND m.last_seqs[member] < t.group_seq, m.group_members)) AS missing,
            t.point_to_point = 0 AND t.is_mixed AS differs,
            arrayFilter(pair -> differs AND (length(t.by_rank) = 2 OR pair.2 != t.usual), t.by_rank) AS others,
            m.last_calls AS last_calls,
            notEmpty(missing) AND arrayAll(member -> lives[member] = '' AND last_calls[member] = '', missing) AS unheard,
            (NOT goes_on OR now - t.unfinished_since >= greatest({waiting_seconds:Int64}, if(unheard, 60, 0)) * 1000000000)
                AND if(empty(missing), t.stuck_count, length(t.unfinished)) > 0 AS waits
        FROM together AS t
        LEFT JOIN members AS m ON m.process_group = t.process_group
        WHERE t.point_to_point = 1 OR t.group_seq >= m.compared_from
    )
SELECT
    j.process_group AS process_group,
    j.group_seq AS group_seq,
    j.name AS name,
    multiIf(differs, 'other call', empty(missing), 'not complete', 'not arrived') AS problem,
    arrayStringConcat(arraySlice(missing, 1, 32), ' ') AS missing_ranks,
    arrayStringConcat(arraySlice(unfinished, 1, 32), ' ') AS waiting_ranks,
    arrayStringConcat(arrayMap(pair -> concat('rank ', toString(pair.1), ': ', pair.2), arraySlice(others, 1, 8)), '; ') AS different,
    if((live_count = 0 AND life.1 = 0) OR empty(unfinished), NULL, greatest(now - since, 0) / 1000000000) AS waited_seconds,
    arrayStringConcat(arrayMap(
        member -> concat('rank ', toString(member), ': ', arrayStringConcat(arrayFilter(words -> words != '', [
            lives[member],
            multiIf(last_calls[member] != '', last_calls[member], lives[member] != '', 'no call in this group', 'never heard of')]), ', ')),
        arraySlice(missing, 1, 8)), '; ') AS missing_are,
    s.user_frame AS user_frame,
    length(missing) AS missing_count,
    length(arrived) AS arrived_count,
    since AS since_time_ns
FROM judged AS j
LEFT ANY JOIN tap.stacks AS s ON s.stack_id = j.stack
WHERE (waits AND (NOT goes_on OR debugged_count = 0)) OR differs
ORDER BY
    since,
    process_group,
    group_seq
LIMIT {limit:Int64}
