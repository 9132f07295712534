-- Question: what of a run was not observed, and why?
-- Grain: one row per rank, reason, subject; what was not left out on purpose comes first
-- Reads: tap.unseen_counts, tap.steps
-- Empty when: live ranks of the run observed all that there was, or only files were published
-- Parameter run: name of the run.
-- Parameter rank = -1: only this rank; -1 for all.
-- Parameter limit = 100: greatest number of rows.
SELECT
    rank,
    reason,
    subject,
    on_purpose,
    sum(u.unseen_count) AS unseen_count,
    uniqExact(step) AS step_count,
    min(step) AS first_step,
    max(step) AS last_step,
    any(recorded.step_count) AS recorded_step_count
FROM tap.unseen_counts AS u
LEFT ANY JOIN
(
    SELECT
        rank,
        uniqExact(step) AS step_count
    FROM tap.steps
    WHERE run_id = xxh3(concat({run:String}, char(31)))
    GROUP BY rank
) AS recorded USING (rank)
WHERE run_id = xxh3(concat({run:String}, char(31)))
    AND ({rank:Int64} = -1 OR rank = {rank:Int64})
GROUP BY
    rank,
    reason,
    subject,
    on_purpose
ORDER BY
    on_purpose,
    unseen_count DESC,
    rank,
    reason,
    subject
LIMIT {limit:UInt64}
