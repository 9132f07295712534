-- Question: which rank is slower than its peers by its own work, step after step?
-- Grain: one row per rank of the run that was behind in most of its last steps
-- Reads: tap.phases_report
-- Empty when: no rank is behind in so many steps, or steps have no other ranks, no begin or no end
-- Severity: warning
-- For: 0s
-- Labels: run, rank
-- Group by: run
-- Says: rank {rank} of run {run} is a straggler: behind its peers in {behind_count} of its last {step_count} steps, by {behind_ms} ms at the median, {factor} times their time
-- Look: tensortap report phases --run {run} --rank {rank}
-- Example: run=nightly, rank=3, behind_count=18, step_count=20, behind_ms=210, factor=1.8
-- Parameter run: name of the run.
-- Parameter last_steps = 20: how many of the latest steps count, fewer where there are fewer.
-- Parameter least_steps = 5: in so many of them at least, and in half of them, a rank has to be behind.
-- Parameter factor = 1.5: a rank is behind that takes so many times the time of the median of the others.
-- Parameter least_ms = 10: a rank is not behind by less than that.
WITH latest AS (
    SELECT
        rank,
        step,
        is_behind,
        behind_ms,
        factor
    FROM tap.phases_report(
        run = {run:String}, rank = -1, first_step = 0, last_step = -1, factor = {factor:Float64}, least_ms = {least_ms:Float64}, all = 1, limit = 100000000)
    ORDER BY
        rank,
        step DESC
    LIMIT {last_steps:Int64} BY rank
)
SELECT
    {run:String} AS run,
    rank,
    countIf(is_behind) AS behind_count,
    count() AS step_count,
    round(quantileExactIf(0.5)(latest.behind_ms, is_behind), 1) AS behind_ms,
    round(quantileExactIf(0.5)(latest.factor, is_behind), 1) AS factor
FROM latest
GROUP BY rank
HAVING behind_count >= {least_steps:Int64} AND 2 * behind_count >= step_count
ORDER BY rank
