-- Question: which of two runs lacks the step that is asked for?
-- Grain: one row, where one of them lacks it or both do
-- Reads: tap.wanted_comparison, tap.declared_comparisons, tap.rank_pairs, tap.steps
-- Empty when: both runs have the step, or none is asked for
-- Parameter problem: name of the run under suspicion.
-- Parameter bench: name of the run it is held against.
-- Parameter comparison = '': id of the comparison, of several, whose steps stand beside each other; empty for the one that was asked for last.
-- Parameter rank = -1: rank of the problem; -1 for any.
-- Parameter step = -1: step of the problem; -1 for none.
WITH
    (
        SELECT any(step_offset)
        FROM tap.declared_comparisons
        WHERE comparison_id IN (
            SELECT comparison_id
            FROM tap.wanted_comparison(problem = {problem:String}, bench = {bench:String}, comparison = {comparison:String})
        )
    ) AS moved,
    {step:Int64} AS of_problem,
    {step:Int64} + moved AS of_bench,
    if({rank:Int64} = -1, '', concat(' at rank ', toString({rank:Int64}))) AS at_rank,
    seen AS (
        SELECT
            countIf(run = {problem:String} AND step = of_problem AND {rank:Int64} IN (-1, rank)) > 0 AS in_problem,
            countIf(run = {bench:String} AND step = of_bench AND ({rank:Int64} = -1 OR rank IN (
                SELECT bench_rank
                FROM tap.rank_pairs(problem = {problem:String}, bench = {bench:String})
                WHERE problem_rank = {rank:Int64}
            ))) > 0 AS in_bench
        FROM tap.steps
        WHERE run_id IN (xxh3(concat({problem:String}, char(31))), xxh3(concat({bench:String}, char(31)))) AND step IN (of_problem, of_bench)
    )
SELECT
    of_problem AS problem_step,
    of_bench AS bench_step,
    in_problem,
    in_bench,
    multiIf(
        in_problem, concat('only run ', {problem:String}, ' has step ', toString(of_problem), at_rank, if(moved = 0, '', concat('; run ', {bench:String}, ' has no step ', toString(of_bench)))),
        in_bench, concat('only run ', {bench:String}, ' has step ', toString(of_bench), at_rank, if(moved = 0, '', concat('; run ', {problem:String}, ' has no step ', toString(of_problem)))),
        moved = 0, concat('neither run ', {problem:String}, ' nor run ', {bench:String}, ' has step ', toString(of_problem), at_rank),
        concat('run ', {problem:String}, ' has no step ', toString(of_problem), at_rank, ', and run ', {bench:String}, ' no step ', toString(of_bench))) AS explanation
FROM seen
WHERE {step:Int64} != -1 AND NOT (in_problem AND in_bench)
ORDER BY explanation
