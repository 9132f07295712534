-- Question: which runs do not agree with a baseline that they match, by all that was judged so far?
-- Grain: one row per run, baseline that it differs from, or with which nothing of it could be compared
-- Reads: tap.baselines, tap.declared_comparisons, tap.judged_steps
-- Empty when: no baseline is set, or every run agrees with those that it matches
-- Severity: warning
-- For: 0s
-- Labels: run, baseline
-- Group by: baseline
-- Says: verdict of baseline {baseline} on run {run}: {verdict}; {differing_count} of {paired_count} pairs in {step_count} steps differ, {alone_count} tensors have no partner
-- Look: tensortap report judged-steps --problem {run} --bench {bench}
-- Example: run=nightly, baseline=release, bench=good, verdict=differs, differing_count=12, paired_count=4096, step_count=8, alone_count=0
-- Parameter current = []: names of the runs that go on or ended a short time ago.
-- Whether tensors without partner count is up to the baseline. What the verdict unknown of compare rests on beside that, SQL does not know.
WITH
    asked AS (
        SELECT
            d.problem AS problem,
            d.comparison_id AS comparison_id,
            d.declared_time_ns AS declared_time_ns,
            b.name AS baseline,
            b.benches[1] AS bench,
            b.strict AS strict
        FROM tap.declared_comparisons AS d
        INNER JOIN tap.baselines AS b
            ON b.benches = d.benches AND b.tolerance = d.tolerance AND b.tolerances = d.tolerances AND b.exceptions = d.exceptions
                AND b.step_offset = d.step_offset AND b.strict = d.strict
        WHERE d.standing = 1 AND has({current:Array(String)}, d.problem)
    ),
    judged AS (
        SELECT
            comparison_id,
            uniqExact(step) AS judged_step_count,
            sum(j.differing_count) AS all_differing_count,
            sum(j.paired_count) AS all_paired_count,
            sum(j.only_problem_count + j.only_bench_count) AS all_alone_count
        FROM tap.judged_steps AS j
        WHERE comparison_id IN (
            SELECT comparison_id
            FROM asked
        )
        GROUP BY comparison_id
    )
SELECT
    asked.problem AS run,
    asked.baseline AS baseline,
    asked.bench AS bench,
    if(all_differing_count > 0 OR (asked.strict = 1 AND all_alone_count > 0), 'differs', 'unknown, as nothing has a partner') AS verdict,
    judged.all_differing_count AS differing_count,
    judged.all_paired_count AS paired_count,
    judged.all_alone_count AS alone_count,
    judged.judged_step_count AS step_count
FROM asked
INNER JOIN judged ON judged.comparison_id = asked.comparison_id
WHERE all_differing_count > 0 OR (asked.strict = 1 AND all_alone_count > 0) OR all_paired_count = 0
ORDER BY
    run,
    baseline,
    asked.declared_time_ns DESC
LIMIT 1 BY
    run,
    baseline
