-- Question: which rank is slower than the others in a step or phase, by its own work and not as it waits for them?
-- Grain: one row per rank, step that is behind the other ranks; what is most behind comes first
-- Reads: tap.steps, tap.requests, tap.collectives, tap.ranks
-- Empty when: no rank is so far behind, or steps of the same number have no other ranks, no begin or no end
-- Shown: rank, step, phase, own_ms, peers_ms, behind_ms, factor, waited_ms, peers_waited_ms
-- Parameter run: name of the run.
-- Parameter rank = -1: only this rank; -1 for all. Its peers are all other ranks in any case.
-- Parameter first_step = 0: first step.
-- Parameter last_step = -1: last step; -1 for all.
-- Parameter factor = 1.5: a rank is behind that takes so many times the time of the median of the others.
-- Parameter least_ms = 10: a rank is not behind by less than that.
-- Parameter all = 0: 1 for the steps of all ranks, behind or not.
-- Parameter limit = 1000: greatest number of rows.
-- Own time is that of the step without that in collectives, sends and receives: who comes late to one works, the others wait.
-- Peers are the other ranks of the same step and phase. Of a step that serves requests, their phases are its own. Children of the program's own are nobody's peers.
WITH
    phases AS (
        SELECT
            rank,
            step,
            arrayStringConcat(arraySort(groupUniqArray(phase)), ' ') AS served
        FROM tap.requests
        WHERE run_id = xxh3(concat({run:String}, char(31))) AND phase != ''
        GROUP BY
            rank,
            step
    ),
    timed AS (
        SELECT
            rank,
            step,
            phase,
            assumeNotNull(begin_time_ns) AS begins,
            assumeNotNull(end_time_ns) AS ends
        FROM tap.steps
        WHERE run_id = xxh3(concat({run:String}, char(31))) AND begin_time_ns IS NOT NULL AND end_time_ns IS NOT NULL
            AND rank NOT IN (
                SELECT rank
                FROM tap.ranks
                WHERE run_id = xxh3(concat({run:String}, char(31))) AND child = 1
            )
    ),
    calls AS (
        SELECT
            rank,
            called_time_ns,
            completed_time_ns,
            state
        FROM tap.collectives
        WHERE run_id = xxh3(concat({run:String}, char(31))) AND (completed_time_ns IS NOT NULL OR state = 'called')
    ),
    waits AS (
        SELECT
            t.rank AS rank,
            t.step AS step,
            c.called_time_ns AS since,
            least(ifNull(c.completed_time_ns, t.ends), t.ends) AS until
        FROM calls AS c
        INNER ASOF JOIN timed AS t ON t.rank = c.rank AND c.called_time_ns >= t.begins
    ),
    waited AS (
        SELECT
            rank,
            step,
            intervalLengthSum(since, until) AS waited_ns
        FROM waits
        WHERE until > since
        GROUP BY
            rank,
            step
    ),
    owned AS (
        SELECT
            t.rank AS rank,
            t.step AS step,
            if(p.served != '', p.served, t.phase) AS phase,
            t.begins AS begins,
            (t.ends - t.begins) / 1000000 AS wall_ms,
            w.waited_ns / 1000000 AS waited_ms,
            wall_ms - waited_ms AS own_ms
        FROM timed AS t
        LEFT JOIN waited AS w ON w.rank = t.rank AND w.step = t.step
        LEFT JOIN phases AS p ON p.rank = t.rank AND p.step = t.step
        WHERE t.step >= {first_step:Int64} AND ({last_step:Int64} = -1 OR t.step <= {last_step:Int64})
    ),
    compared AS (
        SELECT
            rank,
            step,
            phase,
            begins,
            wall_ms,
            waited_ms,
            own_ms,
            arrayFilter(
                p -> tupleElement(p, 1) != rank,
                groupArray((rank, own_ms, waited_ms)) OVER (PARTITION BY step, phase)) AS others,
            if(empty(others), NULL, arrayReduce('quantileExact(0.5)', arrayMap(p -> tupleElement(p, 2), others))) AS peers_ms,
            if(empty(others), NULL, arrayReduce('quantileExact(0.5)', arrayMap(p -> tupleElement(p, 3), others))) AS peers_waited_ms,
            own_ms - peers_ms AS behind_ms,
            if(isNull(peers_ms), NULL, own_ms / greatest(peers_ms, 0.000001)) AS factor
        FROM owned
    )
SELECT
    rank,
    step,
    phase,
    own_ms,
    peers_ms,
    behind_ms,
    factor,
    waited_ms,
    peers_waited_ms,
    wall_ms,
    ifNull(factor >= {factor:Float64} AND behind_ms >= {least_ms:Float64}, 0) AS is_behind,
    begins AS begin_time_ns
FROM compared
WHERE ({rank:Int64} = -1 OR rank = {rank:Int64}) AND (is_behind OR {all:Int64} = 1)
ORDER BY
    is_behind DESC,
    behind_ms DESC,
    step,
    rank
LIMIT {limit:Int64}
