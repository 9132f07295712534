-- Question: at which steps and on which ranks does one op differ?
-- Grain: one row per rank, step that has the op, first those that differ, then by step and rank
-- Reads: tap.verdicts, tap.sites
-- Empty when: neither run has the op at those ranks and steps
-- Parameter problem: name of the run under suspicion.
-- Parameter bench: name of the run it is held against.
-- Parameter op: full name of the op, as the problem calls it; one that only the bench has, as that does.
-- Parameter rank = -1: only this rank of the problem; -1 for all.
-- Parameter first_step = 0: first step of the problem.
-- Parameter last_step = -1: last step of the problem; -1: to the end.
-- Parameter step_offset = 0: the bench's step is the problem's plus this.
-- Parameter benches = []: further bench runs, whose spread is tolerated.
-- Parameter tolerance = -1: greatest relative error that is tolerated; -1: by dtype and depth.
-- Parameter tolerances = []: such by pattern of op and of dtype.
-- Parameter limit = 1000: greatest number of rows.
WITH
    sites_of_op AS (
        SELECT site_id
        FROM tap.sites
        WHERE op_id = xxh3(concat({op:String}, char(31)))
    ),
    judged AS (
        SELECT
            v.rank AS rank,
            v.step AS step,
            v.error AS error,
            v.verdict AS verdict,
            v.differs AS differs,
            v.problem_present AS problem_present
        FROM tap.verdicts(problem = {problem:String}, bench = {bench:String}, rank = {rank:Int64}, first_step = {first_step:Int64}, last_step = {last_step:Int64}, step_offset = {step_offset:Int64}, benches = {benches:Array(String)}, tolerance = {tolerance:Float64}, tolerances = {tolerances:Array(Tuple(String, String, Float64))}) AS v
        WHERE (v.problem_present AND v.site_id IN (
            SELECT site_id
            FROM sites_of_op
        ))
        OR (NOT v.problem_present AND v.bench_site_id IN (
            SELECT site_id
            FROM sites_of_op
        ))
    )
SELECT
    rank,
    step,
    countIf(judged.differs) AS differing_count,
    count() AS tensor_count,
    countIf(judged.verdict = 'unknown') AS unknown_count,
    countIf(judged.verdict = 'unpaired') AS unpaired_count,
    if(countIf(NOT isNaN(judged.error)) > 0, toNullable(maxIf(judged.error, NOT isNaN(judged.error))), NULL) AS greatest_error
FROM judged
GROUP BY
    rank,
    step
ORDER BY
    differing_count = 0,
    countIf(judged.problem_present) = 0,
    step,
    rank
LIMIT {limit:UInt64}
