-- Question: how much of what a run recorded is not finite, and how much of that is meant to be?
-- Grain: one row per rank
-- Reads: tap.observations, tap.overflows
-- Empty when: the run has no tensors at those ranks and steps
-- Parameter run: name of the run.
-- Parameter rank = -1: only this rank; -1 for all.
-- Parameter first_step = 0: first step.
-- Parameter last_step = -1: last step; -1 for all.
-- Measured are rows with a minimum, a maximum or a count of what is not finite: only of them can it be said.
WITH bad AS (
    SELECT
        rank,
        countIf(NOT excused) AS not_finite_count,
        countIf(excused) AS exception_count
    FROM tap.overflows(run = {run:String}, rank = {rank:Int64}, first_step = {first_step:Int64}, last_step = {last_step:Int64})
    GROUP BY rank
)
SELECT
    seen.rank AS rank,
    seen.step_count AS step_count,
    seen.row_count AS row_count,
    seen.measured_count AS measured_count,
    bad.not_finite_count AS not_finite_count,
    bad.exception_count AS exception_count
FROM
(
    -- By step first: to count each step once takes longer than all else.
    SELECT
        rank,
        count() AS step_count,
        sum(of_step) AS row_count,
        sum(measured_of_step) AS measured_count
    FROM
    (
        SELECT
            rank,
            step,
            count() AS of_step,
            countIf(bitAnd(measured, 451) != 0) AS measured_of_step
        FROM tap.observations(run = {run:String}, rank = {rank:Int64}, first_step = {first_step:Int64}, last_step = {last_step:Int64})
        GROUP BY
            rank,
            step
    )
    GROUP BY rank
) AS seen
LEFT ANY JOIN bad ON bad.rank = seen.rank
ORDER BY rank
