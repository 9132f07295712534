-- Question: of which runs do log-probabilities drift from those of the run that they are held against, as a rollout's from its trainer's?
-- Grain: one row per run, bench of a standing comparison of which a late step drifts
-- Reads: tap.token_drifts
-- Empty when: no run is held against another that told of the same tokens, or their log-probabilities agree
-- Severity: warning
-- For: 0s
-- Labels: run, bench
-- Group by: run
-- Says: log-probabilities of run {run} drift from {bench} since step {step}: {drifting_count} of the last {step_count} steps, by {mean_difference} in the mean of the worst, {tolerance} is tolerated
-- Look: tensortap report logprobs --problem {run} --bench {bench}
-- Example: run=rollout, bench=trainer, step=120, drifting_count=3, step_count=20, mean_difference=0.216, tolerance=0.02
-- Parameter current = []: names of the runs that go on or ended a short time ago.
-- Parameter last_steps = 20: how many of the latest steps of a trainer count, 100 at most.
-- Parameter least_steps = 1: in so many of them at least they have to drift.
WITH latest AS (
    SELECT
        problem,
        bench,
        global_step,
        mean_difference,
        tolerance,
        drifts
    FROM tap.token_drifts
    WHERE has({current:Array(String)}, problem)
    ORDER BY
        problem,
        bench,
        global_step DESC
    LIMIT {last_steps:UInt64} BY
        problem,
        bench
)
SELECT
    problem AS run,
    bench,
    minIf(global_step, drifts) AS step,
    countIf(drifts) AS drifting_count,
    count() AS step_count,
    round(max(ifNull(latest.mean_difference, 0)), 6) AS mean_difference,
    any(latest.tolerance) AS tolerance
FROM latest
GROUP BY
    problem,
    bench
HAVING drifting_count >= {least_steps:UInt64}
ORDER BY
    run,
    bench
