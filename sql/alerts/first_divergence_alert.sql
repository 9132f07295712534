-- Question: which runs differ from the good run that they are held against as they land, and where did it begin?
-- Grain: one row per run, bench of a standing comparison that differs
-- Reads: tap.declared_comparisons, tap.origins
-- Empty when: no run is held against another, or nothing differs so far
-- Severity: critical
-- For: 0s
-- Labels: run, bench
-- Group by: run
-- Says: run {run} differs from {bench} since step {step}: it begins at rank {rank}, op {op}{place}, verdict {verdict}
-- Look: tensortap compare {run} {bench}
-- Example: run=nightly, bench=good, step=120, rank=3, op=Functional.linear.4.forward, place= (output of module layers.7.mlp), verdict=diverged
-- Parameter current = []: names of the runs that go on or ended a short time ago.
WITH asked AS (
    SELECT
        comparison_id,
        problem,
        benches[1] AS bench,
        declared_time_ns
    FROM tap.declared_comparisons
    WHERE standing = 1 AND has({current:Array(String)}, problem)
)
SELECT
    asked.problem AS run,
    asked.bench AS bench,
    o.rank AS rank,
    o.step AS step,
    o.op AS op,
    if(o.role = '', '', concat(' (', o.role, if(o.module = '', '', concat(' of module ', o.module)), ')')) AS place,
    o.verdict AS verdict
FROM tap.origins AS o
INNER JOIN asked ON asked.comparison_id = o.comparison_id
ORDER BY
    run,
    bench,
    asked.declared_time_ns DESC,
    o.position,
    rank,
    step
LIMIT 1 BY
    run,
    bench
