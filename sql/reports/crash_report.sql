-- Question: which rank of a run died first, how, in which op, with which inputs and requests, and what were the others doing?
-- Grain: one row per rank that was published, gave a sign of life, failed or is expected by the world size, in the order in which they went
-- Reads: tap.ranks, tap.heartbeats, tap.steps, tap.failures, tap.stacks, tap.ops, tap.runs, tap.programs, tap.sites, tap.layouts, tap.requests, tap.memories, tap.audits, tap_store.tensor, tap_store.log
-- Empty when: the run is not known
-- Shown: rank, how, after_seconds, step, op, module, op_seconds, type, message, requests, host_resident_bytes
-- Parameter run: name of the run.
-- Parameter lines = 5: how many of each rank's last log lines.
-- Parameter silent_seconds = 10: a rank that gave no sign of life for so long is silent.
-- Parameter now_ns = -1: what to take for now, as UTC nanoseconds; -1 for the clock of the database.
-- How: raised in its last step; stopped, if that was KeyboardInterrupt, as by Ctrl-C; died without a word, by a signal where a log names that; waiting, if that was in a
-- collective or by SIGTERM, as launchers end those that are left; peer gone, if it raised in a collective, or says so.
-- The last two follow from another's death and come after it. What died without a word was doing its last op at the time.
-- Requests are those of its last step, or else of the last one before it of which they are known, with that step's number.
-- A fatal error that faulthandler wrote into the rank's log is its own death, be it in a collective.
-- A traceback of its last ten seconds in the log of a rank that is gone, and was in no op then, is what it raised, as is that of a line by which an engine says that it fails, at any time (fatal).
-- What was gone since its user had ended the program is stopped. Idle is a rank whose last step had ended.
WITH
    if({now_ns:Int64} = -1, toUnixTimestamp64Nano(now64(9)), {now_ns:Int64}) AS now,
    -- Signs of life come once a second: what gave one shortly before was ended with the program.
    (
        SELECT max(toInt64OrZero(details['at_ns'])) - 3000000000
        FROM tap.audits
        WHERE deed = 'end' AND run = {run:String}
    ) AS stop_ns,
    everyone AS (
        SELECT rank
        FROM tap.ranks
        WHERE run_id = xxh3(concat({run:String}, char(31)))
        UNION DISTINCT
        SELECT rank
        FROM tap.heartbeats
        WHERE run_id = xxh3(concat({run:String}, char(31)))
        UNION DISTINCT
        SELECT rank
        FROM tap.failures
        WHERE run_id = xxh3(concat({run:String}, char(31))) AND rank != 4294967295
        UNION DISTINCT
        SELECT toUInt32(arrayJoin(range(ifNull(world_size, 0)))) AS rank
        FROM tap.runs
        WHERE run_id = xxh3(concat({run:String}, char(31)))
    ),
    process AS (
        SELECT
            rank,
            epoch,
            host,
            pid,
            device,
            started_time_ns,
            child,
            1 AS found
        FROM tap.ranks
        WHERE run_id = xxh3(concat({run:String}, char(31)))
    ),
    heard AS (
        SELECT
            rank,
            epoch,
            event_time_ns,
            state,
            step,
            op_id,
            since_time_ns,
            1 AS found
        FROM tap.heartbeats
        WHERE run_id = xxh3(concat({run:String}, char(31)))
    ),
    ended_steps AS (
        SELECT
            rank,
            max(step) AS last_step,
            max(event_time_ns) AS last_time_ns,
            argMax(tuple(end_time_ns), step).1 AS last_end_ns,
            argMax(complete, step) AS last_complete,
            min(complete) AS all_complete,
            1 AS found
        FROM tap.steps
        WHERE run_id = xxh3(concat({run:String}, char(31)))
        GROUP BY rank
    ),
    failed AS (
        SELECT
            rank,
            epoch,
            step,
            seq,
            op_id,
            module_path,
            type,
            message,
            inputs,
            stack_id,
            event_time_ns,
            1 AS found
        FROM tap.failures
        WHERE run_id = xxh3(concat({run:String}, char(31)))
        ORDER BY
            rank,
            epoch,
            event_time_ns DESC,
            seq DESC
        LIMIT 1 BY
            rank,
            epoch
    ),
    -- Of a rank that only a file tells of, as a crash snapshot.
    lone AS (
        SELECT
            rank,
            argMax(epoch, event_time_ns) AS last_epoch
        FROM failed
        GROUP BY rank
    ),
    -- What launchers say of processes that they have waited for.
    signals AS (
        SELECT
            toInt64OrZero(extract(text, 'pid: (\d+)\)')) AS pid,
            any(toInt64OrZero(extract(text, 'exitcode *: -(\d+)'))) AS number
        FROM tap_store.log
        WHERE run_id = xxh3(concat({run:String}, char(31))) AND match(text, 'exitcode *: -\d+.*\(?pid: \d+\)')
        GROUP BY pid
    ),
    -- Lines of a process below `tensortap run` are of the rank that it is, and of the start that it was.
    written AS (
        SELECT
            if(line.rank != 4294967295, line.rank, process.rank) AS rank,
            line.event_time_ns AS event_time_ns,
            line.epoch AS epoch,
            line.seq AS seq,
            line.pid AS pid,
            line.kind AS kind,
            line.text AS text,
            line.exception AS exception
        FROM tap_store.log AS line
        LEFT ANY JOIN process ON process.host = line.host AND process.pid = line.pid
        WHERE line.run_id = xxh3(concat({run:String}, char(31))) AND (line.rank != 4294967295 OR process.found = 1)
    ),
    -- Of these, lines of the process that the rank is, and not of others below it.
    own AS (
        SELECT
            rank,
            event_time_ns,
            epoch,
            seq,
            kind,
            text,
            exception
        FROM written
        WHERE isNull(pid)
            OR (rank, pid) IN (
                SELECT
                    rank,
                    pid
                FROM process
            )
    ),
    -- What faulthandler wrote into the log of a process, with where its current thread was.
    fatal AS (
        SELECT
            rank,
            argMax(extract(text, 'Fatal Python error: (.*)'), place) AS message,
            argMax(exception, place) AS threads,
            arrayMap(
                line -> replaceRegexpOne(trimBoth(line), '^File "(.*)", line (\\d+),? in (.*)$', 'File \\1, line \\2, in \\3'),
                arrayFilter(line -> startsWith(line, '  File '), splitByChar('\n', splitByString('\n\n', substring(threads, position(threads, 'Current thread')))[1]))) AS frames
        FROM
        (
            SELECT
                rank,
                text,
                exception,
                (event_time_ns, epoch, seq) AS place
            FROM own
            WHERE kind = 'traceback' AND position(text, 'Fatal Python error: ') > 0
        )
        GROUP BY rank
    ),
    -- What the log of a process says that it raised, with its frames, innermost first.
    caught AS (
        SELECT
            rank,
            argMax(whole, place) AS traceback,
            max(place).2 AS caught_time_ns,
            max(place).1 AS is_fatal,
            arrayReverse(splitByChar('\n', trimBoth(traceback))) AS traceback_lines,
            arrayFirst(line -> match(line, '^[A-Za-z_][\\w.]*(: |$)'), traceback_lines) AS last_line,
            extract(last_line, '^([\\w.]+)') AS type,
            extract(last_line, '^[\\w.]+: (.*)') AS message,
            arrayMap(
                line -> replaceRegexpOne(trimBoth(line), '^File "(.*)", line (\\d+),? in (.*)$', 'File \\1, line \\2, in \\3'),
                arrayFilter(line -> startsWith(line, '  File '), traceback_lines)) AS frames,
            1 AS found
        FROM
        (
            SELECT
                rank,
                if(exception = '', text, exception) AS whole,
                (
                    match(concat(text, exception), 'EngineCore (encountered a fatal error|failed to start)|(Scheduler|WorkerProc|DetokenizerManager|TokenizerManager|DataParallelController) hit an exception'),
                    event_time_ns,
                    epoch,
                    seq) AS place
            FROM own
            WHERE position(concat(text, exception), 'Traceback (most recent call last)') > 0
                AND NOT match(exception, '(^|\n)(KeyboardInterrupt|SystemExit|(asyncio\\.exceptions\\.)?CancelledError)')
        )
        GROUP BY rank
    ),
    met AS (
        SELECT
            everyone.rank AS rank,
            process.host AS host,
            process.pid AS pid,
            process.device AS device,
            process.child AS child,
            heard.epoch AS epoch,
            heard.state AS state,
            heard.found AS heard_of,
            signals.number AS signal_number,
            failed.found = 1 AND (heard.found = 0 OR failed.step >= heard.step) AND failed.type != 'process died' AS raised,
            NOT raised AND caught.found = 1 AND heard.found = 1 AND heard.state != 'running' AND (caught.is_fatal = 1 OR heard.op_id = 0 AND caught.caught_time_ns > heard.event_time_ns - 10000000000) AS logged,
            logged AND caught.is_fatal = 1 AS fatal,
            stop_ns > 0 AND NOT raised AND NOT logged AND heard.found = 1 AND heard.state NOT IN ('running', 'ended') AND ifNull(process.started_time_ns, 0) < stop_ns + 3000000000 AND last_time_ns >= stop_ns AS ended_by_user,
            if(heard.found = 1 AND heard.state != 'ended' AND NOT raised AND ended_steps.found = 1 AND ended_steps.last_step = heard.step AND ended_steps.last_complete = 1, ended_steps.last_end_ns, NULL) AS idle_since_ns,
            multiIf(raised, failed.step, heard.found = 1, toNullable(heard.step), ended_steps.found = 1, toNullable(ended_steps.last_step), NULL) AS last_step,
            if(raised AND failed.op_id != 0, failed.op_id, heard.op_id) AS last_op_id,
            multiIf(
                raised, failed.event_time_ns,
                logged, toNullable(caught.caught_time_ns),
                heard.found = 1, toNullable(greatest(heard.event_time_ns, ifNull(heard.since_time_ns, 0))),
                ended_steps.found = 1, toNullable(ended_steps.last_time_ns),
                NULL) AS last_time_ns,
            if(isNull(heard.since_time_ns), NULL, greatest(last_time_ns - heard.since_time_ns, 0)) / 1000000000 AS op_seconds,
            NOT logged AND failed.found = 1 AND (raised OR failed.type = 'process died') AS told,
            failed.module_path AS module_path,
            if(logged, caught.type, failed.type) AS type,
            if(logged, caught.message, failed.message) AS message,
            failed.inputs AS inputs,
            failed.stack_id AS stack_id,
            if(logged, caught.frames, []) AS caught_frames,
            multiIf(
                heard.found = 1 AND heard.state = 'running' AND now - heard.event_time_ns > {silent_seconds:Int64} * 1000000000, 'silent',
                heard.found = 1, heard.state,
                ended_steps.found = 1, if(ended_steps.all_complete = 1, 'ended', 'cut short'),
                process.found = 1, 'no step yet',
                'never heard of') AS last_state
        FROM everyone
        LEFT ANY JOIN process ON process.rank = everyone.rank
        LEFT ANY JOIN heard ON heard.rank = everyone.rank
        LEFT ANY JOIN ended_steps ON ended_steps.rank = everyone.rank
        LEFT ANY JOIN lone ON lone.rank = everyone.rank
        LEFT ANY JOIN failed ON failed.rank = everyone.rank AND failed.epoch = multiIf(heard.found = 1, heard.epoch, process.found = 1, process.epoch, lone.last_epoch)
        LEFT ANY JOIN signals ON signals.pid = process.pid
        LEFT ANY JOIN caught ON caught.rank = everyone.rank
    ),
    ends AS (
        SELECT
            met.rank AS rank,
            met.host AS host,
            met.pid AS pid,
            met.device AS device,
            met.signal_number AS signal_number,
            met.last_step AS last_step,
            met.last_op_id AS last_op_id,
            met.last_time_ns AS last_time_ns,
            met.op_seconds AS op_seconds,
            met.told AS told,
            met.module_path AS failed_module,
            met.type AS type,
            met.message AS message,
            met.inputs AS inputs,
            met.stack_id AS stack_id,
            met.child AS child,
            met.logged AS logged,
            met.fatal AS fatal,
            met.caught_frames AS caught_frames,
            met.idle_since_ns AS idle_since_ns,
            multiIf(
                op.name = '' AND met.last_op_id != 0, leftPad(lower(hex(met.last_op_id)), 16, '0'),
                op.name) AS op_name,
            op.module_path AS op_module,
            met.raised OR met.logged AS failing,
            multiIf(
                met.ended_by_user OR met.raised AND met.last_state != 'running' AND met.type = 'KeyboardInterrupt', 'stopped',
                failing AND met.last_state != 'running' AND (op.level = 'collective' OR match(concat(met.type, ': ', met.message), 'Connection (closed|reset) by peer|[Rr]emote (peer|process|worker)|NCCL communicator was aborted|Broken pipe|EngineDeadError')), 'peer gone',
                failing AND met.last_state IN ('died', 'ended', 'cut short', 'no step yet', 'never heard of'), 'raised',
                met.last_state = 'died' AND fatal.message = '' AND (op.level = 'collective' AND signal_number = 0 OR signal_number = 15), 'waiting',
                met.last_state) AS how,
            if(met.last_state = 'died', fatal.message, '') AS fatal_message,
            fatal.frames AS fatal_frames,
            indexOf(['died', 'stopped', 'waiting', 'silent', 'cut short', 'peer gone', 'never heard of', 'no step yet', 'running', 'ended'], if(how = 'raised', 'died', how)) AS fall
        FROM met
        LEFT ANY JOIN tap.ops AS op ON op.op_id = met.last_op_id
        LEFT ANY JOIN fatal ON fatal.rank = met.rank
    ),
    -- A scalar is asked for once; ends would be at each place that reads it.
    (SELECT groupArray((rank, ifNull(last_step, 0), last_op_id)) FROM ends) AS last_of_ranks,
    arrayMap(last -> (last.1, last.2), last_of_ranks) AS last_steps,
    arrayMap(last -> last.3, last_of_ranks) AS last_op_ids,
    given AS (
        SELECT
            taken.rank AS rank,
            taken.step AS step,
            site.op_id AS op_id,
            arrayStringConcat(arrayMap(item -> item.2, arraySort(groupArray((toInt64(taken.seq), concat(
                site.role, if(site.path = '', '', '.'), site.path, ': ',
                if(layout.kind IN ('tensor', ''), concat(replaceOne(layout.dtype, 'torch.', ''), replaceAll(toString(layout.shape), ',', ', ')), layout.literal)))))), '\n') AS inputs
        FROM tap_store.tensor AS taken
        INNER JOIN
        (
            SELECT
                site_id,
                op_id,
                role,
                path
            FROM tap.sites
            WHERE role IN ('input', 'kwarg') AND op_id IN last_op_ids
        ) AS site ON site.site_id = taken.site_id
        LEFT ANY JOIN tap.layouts AS layout ON layout.layout_id = taken.layout_id
        WHERE taken.run_id = xxh3(concat({run:String}, char(31)))
            AND taken.site_id IN (
                SELECT site_id
                FROM tap.sites
                WHERE role IN ('input', 'kwarg') AND op_id IN last_op_ids
            )
            AND (taken.rank, taken.step) IN last_steps
        GROUP BY
            rank,
            step,
            op_id
    ),
    -- A step that was cut short has no program: those before it tell in which module the op is called.
    around AS (
        SELECT
            program.op_id AS op_id,
            argMax(parent.module_path, program.program_id) AS module_path
        FROM tap.programs AS program
        INNER JOIN tap.ops AS parent ON parent.op_id = program.parent_op_id
        WHERE program.op_id IN last_op_ids
        AND program.program_id IN (
            SELECT program_id
            FROM tap.steps
            WHERE run_id = xxh3(concat({run:String}, char(31)))
        )
        GROUP BY op_id
    ),
    -- Engines say what a step serves as the model is entered: of a step that did not come so far, that before it tells.
    served AS (
        SELECT
            q.rank AS rank,
            q.step AS step,
            arrayMap(item -> item.2, arraySort(groupArray((q.seq, concat(q.request, ' ', q.phase))))) AS requests
        FROM tap.requests AS q
        WHERE q.run_id = xxh3(concat({run:String}, char(31))) AND q.step <= transform(q.rank, last_steps.1, last_steps.2, toUInt64(0))
        GROUP BY
            q.rank,
            q.step
        ORDER BY
            q.rank,
            q.step DESC
        LIMIT 1 BY q.rank
    ),
    remembered AS (
        SELECT
            rank,
            argMax(step, place) AS memory_step,
            argMax(tuple(allocated_bytes), place).1 AS allocated,
            argMax(tuple(host_resident_bytes), place).1 AS host_resident,
            max(oom_count) AS oom_count,
            1 AS found
        FROM
        (
            SELECT
                rank,
                step,
                (event_time_ns, seq) AS place,
                allocated_bytes,
                host_resident_bytes,
                oom_count
            FROM tap.memories
            WHERE run_id = xxh3(concat({run:String}, char(31))) AND component = 'all'
        )
        GROUP BY rank
    ),
    (
        SELECT groupArray((rank, latest))
        FROM
        (
            SELECT
                rank,
                max(event_time_ns) AS latest
            FROM written
            GROUP BY rank
        )
    ) AS latest_lines,
    said AS (
        SELECT
            rank,
            arrayReverse(groupArray(text)) AS last_lines
        FROM
        (
            -- Of its last minute: a log may have any length.
            SELECT
                line.rank AS rank,
                line.text AS text
            FROM written AS line
            WHERE line.event_time_ns > transform(line.rank, latest_lines.1, latest_lines.2, toInt64(0)) - 60000000000 AND trimBoth(line.text) != ''
            ORDER BY
                line.rank,
                line.event_time_ns DESC,
                line.epoch DESC,
                line.seq DESC
            LIMIT {lines:UInt64} BY line.rank
        )
        GROUP BY rank
    )
SELECT
    ends.rank AS rank,
    how,
    last_time_ns,
    -- A rank that waits may have given its last sign of life before the first death.
    if(how IN ('running', 'ended', 'no step yet'), NULL, last_time_ns - first_value(last_time_ns) OVER (ORDER BY fall, ends.last_time_ns, ends.rank)) / 1000000000 AS after_seconds,
    last_step AS step,
    op_name AS op,
    multiIf(told AND failed_module != '', failed_module, op_module != '', op_module, around.module_path) AS module,
    ends.op_seconds AS op_seconds,
    multiIf(told OR logged, ends.type, fatal_message != '', 'Fatal Python error', '') AS type,
    if(told OR logged, ends.message, fatal_message) AS message,
    if(told AND ends.inputs != '', ends.inputs, given.inputs) AS inputs,
    multiIf(
        told, stack.user_frame,
        logged, arrayFirst(frame -> NOT match(frame, '/(site|dist)-packages/|/lib/python3'), caught_frames),
        fatal_message != '', arrayFirst(frame -> NOT match(frame, '/(site|dist)-packages/|/lib/python3'), fatal_frames),
        '') AS user_frame,
    multiIf(told, stack.frames, logged, caught_frames, fatal_message != '', fatal_frames, []) AS frames,
    arrayMap(request -> if(served.step = ends.last_step, request, concat(request, ' in step ', toString(served.step))), served.requests) AS requests,
    if(signal_number > 0, toNullable(signal_number), NULL) AS signal,
    if(remembered.found = 1, toNullable(remembered.memory_step), NULL) AS memory_step,
    remembered.allocated AS allocated_bytes,
    remembered.host_resident AS host_resident_bytes,
    if(remembered.found = 1, toNullable(remembered.oom_count), NULL) AS refused_allocation_count,
    said.last_lines AS last_lines,
    host,
    pid,
    device,
    child,
    idle_since_ns AS idle_since_time_ns,
    fatal
FROM ends
LEFT ANY JOIN tap.stacks AS stack ON stack.stack_id = ends.stack_id
LEFT ANY JOIN around ON around.op_id = ends.last_op_id
LEFT ANY JOIN given ON given.rank = ends.rank AND given.step = ends.last_step AND given.op_id = ends.last_op_id
LEFT ANY JOIN served ON served.rank = ends.rank
LEFT ANY JOIN remembered ON remembered.rank = ends.rank
LEFT ANY JOIN said ON said.rank = ends.rank
ORDER BY
    fall,
    ends.last_time_ns,
    rank
