-- Question: which ranks dropped events, or lost them on their way?
-- Grain: one row per rank of the run
-- Reads: tap.completeness
-- Empty when: nothing was dropped, and no batch is missing
-- Severity: warning
-- For: 1m
-- Labels: run, rank
-- Group by: run
-- Says: rank {rank} of run {run} is not complete: {explanation}
-- Look: tensortap report completeness --run {run}
-- Example: run=nightly, rank=3, explanation=the rank dropped 512 (queue full)
-- Parameter run: name of the run.
SELECT
    {run:String} AS run,
    rank,
    explanation
FROM tap.completeness
WHERE run_id = xxh3(concat({run:String}, char(31)))
    AND (dropped_count > 0 OR missing_batch_count > 0 OR match(explanation, 'were dropped|were lost'))
ORDER BY rank
