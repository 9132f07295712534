-- Question: how far has each rank of a run come, and is what it produced stored?
-- Grain: one row per rank, step that is stored, at least in part
-- Reads: tap_store.tensor, tap.superseded_steps, tap.steps
-- Empty when: nothing of the run is stored from that step on
-- Parameter run: name of the run.
-- Parameter first_step = 0: first step.
-- Parameter last_step = -1: last step; -1 for all.
WITH
    (
        SELECT groupArray((run_id, rank, step, epoch))
        FROM tap.superseded_steps
        WHERE run_id = xxh3(concat({run:String}, char(31)))
    ) AS superseded
SELECT
    if(seen.row_count > 0, seen.rank, ended_steps.rank) AS rank,
    if(seen.row_count > 0, seen.step, ended_steps.step) AS step,
    seen.row_count AS row_count,
    seen.last_seq AS last_seq,
    ended_steps.found AS ended,
    ended_steps.program_id AS program_id,
    ended_steps.tensor_count AS produced_row_count,
    ended_steps.dropped_count AS dropped_count,
    ended_steps.drop_reason AS drop_reason,
    ended_steps.complete = 1 AS complete
FROM
(
    SELECT
        rank,
        step,
        count() AS row_count,
        max(seq) AS last_seq
    FROM tap_store.tensor
    WHERE run_id = xxh3(concat({run:String}, char(31)))
        AND step >= {first_step:Int64}
        AND ({last_step:Int64} = -1 OR step <= {last_step:Int64})
        AND (empty(superseded) OR (run_id, rank, step, epoch) NOT IN (
            SELECT arrayJoin(superseded)
        ))
    GROUP BY
        rank,
        step
) AS seen
FULL JOIN
(
    SELECT
        rank,
        step,
        program_id,
        tensor_count,
        dropped_count,
        drop_reason,
        complete,
        true AS found
    FROM tap.steps
    WHERE run_id = xxh3(concat({run:String}, char(31)))
        AND step >= {first_step:Int64}
        AND ({last_step:Int64} = -1 OR step <= {last_step:Int64})
) AS ended_steps ON ended_steps.rank = seen.rank AND ended_steps.step = seen.step
ORDER BY
    step,
    rank
