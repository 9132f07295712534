-- Question: what exists in one of the two runs only, and why is it without a partner?
-- Grain: one row per rank, step, op of one run only, or of which nothing can be said
-- Reads: tap.verdicts, tap.sites, tap.ops, tap.steps, tap.programs
-- Empty when: every tensor has a partner, and something can be said of each pair
-- Parameter problem: name of the run under suspicion.
-- Parameter bench: name of the run it is held against.
-- Parameter benches = []: names of further bench runs; from three on in all, their spread is the tolerance.
-- Parameter tolerance = -1: greatest relative error that is tolerated; -1 for one by dtype and depth.
-- Parameter tolerances = []: rules (op pattern, dtype pattern, tolerance) that go before it, the first that fits counts.
-- Parameter rank = -1: only this rank of the problem; -1 for all.
-- Parameter first_step = 0: first step of the problem.
-- Parameter last_step = -1: last step of the problem; -1 for all.
-- Parameter step_offset = 0: what to add to a step of the problem for that of the bench.
-- Parameter limit = 100: greatest number of rows.
WITH
    alone AS (
        SELECT
            verdicts.rank AS rank,
            verdicts.step AS step,
            site.op_id AS op_id,
            any(verdicts.problem_present) AS in_problem,
            any(verdicts.bench_present) AS in_bench,
            verdicts.reason AS reason,
            min(verdicts.seq) AS position,
            count() AS row_count
        FROM tap.verdicts(problem = {problem:String}, bench = {bench:String}, benches = {benches:Array(String)}, tolerance = {tolerance:Float64}, tolerances = {tolerances:Array(Tuple(String, String, Float64))}, rank = {rank:Int64}, first_step = {first_step:Int64}, last_step = {last_step:Int64}, step_offset = {step_offset:Int64}) AS verdicts
        LEFT ANY JOIN tap.sites AS site ON site.site_id = verdicts.site_id
        WHERE verdicts.verdict IN ('unpaired', 'unknown')
        GROUP BY
            rank,
            step,
            op_id,
            reason
    ),
    parents AS (
        SELECT
            op_id,
            max(parent_op_id) AS parent_op_id
        FROM tap.programs
        WHERE program_id IN (
            SELECT program_id
            FROM tap.steps
            WHERE run_id IN (xxh3(concat({problem:String}, char(31))), xxh3(concat({bench:String}, char(31))))
        )
        GROUP BY op_id
    )
SELECT
    alone.rank AS rank,
    alone.step AS step,
    multiIf(alone.in_problem AND alone.in_bench, 'both', alone.in_problem, 'problem', 'bench') AS side,
    if(op.name = '', leftPad(lower(hex(alone.op_id)), 16, '0'), op.name) AS op,
    if(op.module_path = '', parent.module_path, op.module_path) AS module,
    alone.reason AS reason,
    alone.row_count AS row_count,
    alone.position AS position
FROM alone
LEFT ANY JOIN tap.ops AS op ON op.op_id = alone.op_id
LEFT ANY JOIN parents ON parents.op_id = alone.op_id
LEFT ANY JOIN tap.ops AS parent ON parent.op_id = parents.parent_op_id
ORDER BY
    step,
    rank,
    position,
    op,
    reason,
    side
LIMIT {limit:UInt64}
