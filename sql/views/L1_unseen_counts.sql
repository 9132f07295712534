-- Question: what was not observed at which step, and why?
-- Grain: one row per run, rank, step, reason, subject; replaced observations are hidden
-- Reads: tap_store.unseen, tap.superseded_steps
-- Empty when: live ranks observed all that there was, or only files were published
-- What was left out because it was asked for is no loss.
SELECT
    run_id,
    rank,
    step,
    reason,
    subject,
    reason IN ('filtered', 'sampled', 'step not wanted', 'beyond the budget') AS on_purpose,
    sum(u.unseen_count) AS unseen_count
FROM tap_store.unseen AS u
WHERE (run_id, rank, step, epoch) NOT IN (
    SELECT
        run_id,
        rank,
        step,
        epoch
    FROM tap.superseded_steps
)
GROUP BY
    run_id,
    rank,
    step,
    reason,
    subject
