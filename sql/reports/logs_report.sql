-- Question: what did the processes of a run write, in the order of time?
-- Grain: one row per rank or process without one, stream, line or record
-- Reads: tap.logs
-- Empty when: no line fits
-- Shown: event_time_ns, rank, step, host, pid, role, stream, level, kind, text
-- Parameter run: name of the run.
-- Parameter rank = -1: lines of that rank; -1 for all.
-- Parameter level = '': least level, of debug, info, warning, error, critical; lines without one are of info, tracebacks of error.
-- Parameter request = '': lines that name the request.
-- Parameter grep = '': a regular expression that the text or the exception matches.
-- Parameter from_time_ns = 0: first time, UTC.
-- Parameter to_time_ns = 0: time before which lines are; 0 for all.
-- Parameter step = -1: lines of that step; -1 for all.
-- Parameter limit = 0: greatest number of lines, the first ones.
SELECT
    event_time_ns,
    time_basis,
    if(rank = 4294967295, NULL, toNullable(rank)) AS rank,
    step,
    host,
    pid,
    role,
    stream,
    level,
    logger,
    kind,
    request,
    text,
    exception,
    fields,
    seq
FROM tap.logs
WHERE run_id = xxh3(concat({run:String}, char(31)))
    AND ({rank:Int64} < 0 OR tap.logs.rank = {rank:Int64})
    AND ({level:String} = '' OR indexOf(['debug', 'info', 'warning', 'error', 'critical'], if(level = '', 'info', level)) >= indexOf(['debug', 'info', 'warning', 'error', 'critical'], {level:String}))
    AND ({request:String} = '' OR request = {request:String} OR position(text, {request:String}) > 0)
    AND ({grep:String} = '' OR match(text, {grep:String}) OR match(exception, {grep:String}))
    AND event_time_ns >= {from_time_ns:Int64}
    AND ({to_time_ns:Int64} = 0 OR event_time_ns < {to_time_ns:Int64})
    AND ({step:Int64} < 0 OR step = {step:Int64})
ORDER BY
    event_time_ns,
    rank,
    pid,
    stream,
    seq,
    text
LIMIT if({limit:UInt64} = 0, 9223372036854775807, {limit:UInt64})
