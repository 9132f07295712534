-- Question: which places did one comparison name?
-- Grain: one row per place, origins first, then in order of the answer
-- Reads: tap.comparisons, tap.findings
-- Empty when: there is no such comparison, or it found no difference
-- Shown: problem, bench, origin, rank, step, op, module, role, path, verdict, error
-- Parameter comparison = '': id of the comparison, 16 hex digits; empty for the latest.
-- Parameter problem = '': of the comparisons of this run under suspicion; empty for any.
-- Parameter limit = 100: greatest number of rows.
WITH chosen AS (
    SELECT
        comparison_id,
        problem,
        benches[1] AS bench
    FROM tap.comparisons
    WHERE ({comparison:String} = '' OR leftPad(lower(hex(comparison_id)), 16, '0') = lower({comparison:String}))
        AND ({problem:String} = '' OR problem = {problem:String})
    ORDER BY
        created_time_ns DESC,
        comparison_id DESC
    LIMIT 1
)
SELECT
    findings.comparison_id AS comparison_id,
    chosen.problem AS problem,
    chosen.bench AS bench,
    findings.position AS position,
    findings.origin = 1 AS origin,
    findings.rank AS rank,
    findings.step AS step,
    findings.op AS op,
    findings.module AS module,
    findings.role AS role,
    findings.path AS path,
    findings.kind AS kind,
    findings.verdict AS verdict,
    findings.evidence AS evidence,
    findings.error AS error,
    findings.tolerance AS tolerance,
    findings.user_frame AS user_frame
FROM tap.findings AS findings
INNER JOIN chosen ON chosen.comparison_id = findings.comparison_id
ORDER BY position
LIMIT {limit:UInt64}
