-- Question: how does the memory of two runs differ, step by step, and from which step on?
-- Grain: one row per rank, device, component, counter, step; counters that part come first, then each in its steps
-- Reads: tap.memory_counters
-- Empty when: neither run measured its memory at the end of a step: dumps hold none, `tensortap run` records it
-- Parameter problem: name of the run under suspicion.
-- Parameter bench: name of the run it is held against.
-- Parameter rank = -1: only this rank; -1 for all.
-- Parameter first_step = 0: first step.
-- Parameter last_step = -1: last step; -1 for all.
-- Parameter least_ratio = 0.01: a difference below this part of the bench's bytes, or below a MiB, is none.
-- Parameter limit = 10000: greatest number of rows.
-- Two runs part at the first of three steps in a row, or of those left, whose difference exceeds the least, and six times
-- the noise: how much the difference bends from step to step, by the median, so that steady growth is none. A step that one of them lacks has no
-- difference. The stacks that hold the difference, of snapshots: report memory-diff-stacks.
WITH
    paired AS (
        SELECT
            rank,
            device,
            component,
            counter,
            step,
            if(p.is_there, toNullable(p.bytes), NULL) AS problem_bytes,
            if(b.is_there, toNullable(b.bytes), NULL) AS bench_bytes,
            toInt64(problem_bytes) - toInt64(bench_bytes) AS difference
        FROM (
            SELECT
                rank,
                device,
                component,
                counter,
                step,
                bytes,
                true AS is_there
            FROM tap.memory_counters(run = {problem:String}, first_step = {first_step:Int64}, last_step = {last_step:Int64})
            WHERE {rank:Int64} = -1 OR rank = {rank:Int64}
        ) AS p
        FULL JOIN (
            SELECT
                rank,
                device,
                component,
                counter,
                step,
                bytes,
                true AS is_there
            FROM tap.memory_counters(run = {bench:String}, first_step = {first_step:Int64}, last_step = {last_step:Int64})
            WHERE {rank:Int64} = -1 OR rank = {rank:Int64}
        ) AS b USING (rank, device, component, counter, step)
    ),
    changes AS (
        SELECT
            rank,
            device,
            component,
            counter,
            step,
            problem_bytes,
            bench_bytes,
            difference,
            lagInFrame(difference, 1) OVER (PARTITION BY rank, device, component, counter ORDER BY step) AS one_before,
            lagInFrame(difference, 2) OVER (PARTITION BY rank, device, component, counter ORDER BY step) AS two_before,
            abs(difference - 2 * one_before + two_before) AS bend
        FROM paired
    ),
    noises AS (
        SELECT
            rank,
            device,
            component,
            counter,
            toFloat64(ifNull(quantileExact(0.5)(bend), 0)) AS noise
        FROM changes
        GROUP BY
            rank,
            device,
            component,
            counter
    ),
    beyond AS (
        SELECT
            rank,
            device,
            component,
            counter,
            step,
            ifNull(toFloat64(abs(difference)) > greatest(1048576., {least_ratio:Float64} * bench_bytes, 6. * noise), 0) AS is_beyond,
            min(is_beyond) OVER (PARTITION BY rank, device, component, counter ORDER BY step ROWS BETWEEN CURRENT ROW AND 2 FOLLOWING) AS stays
        FROM changes
        INNER JOIN noises USING (rank, device, component, counter)
        WHERE difference IS NOT NULL
    ),
    partings AS (
        SELECT
            rank,
            device,
            component,
            counter,
            minOrNullIf(step, stays) AS parting_step
        FROM beyond
        GROUP BY
            rank,
            device,
            component,
            counter
    )
SELECT
    changes.rank AS rank,
    changes.device AS device,
    changes.component AS component,
    changes.counter AS counter,
    changes.step AS step,
    problem_bytes,
    bench_bytes,
    difference AS difference_bytes,
    parting_step AS parts_at_step
FROM changes
LEFT JOIN partings ON partings.rank = changes.rank AND partings.device = changes.device AND partings.component = changes.component AND partings.counter = changes.counter
ORDER BY
    isNull(parts_at_step),
    rank,
    device,
    component != 'all',
    component,
    counter,
    step
LIMIT {limit:UInt64}
