-- Question: how much of two runs at level aten was held against each other?
-- Grain: one row
-- Reads: tap.signature_pairs
-- Empty when: never
-- Parameter problem: name of the run under suspicion.
-- Parameter bench: name of the run it is held against.
-- Parameter rank = -1: only this rank of the problem; -1 for all.
-- Parameter first_step = 0: first step of the problem.
-- Parameter last_step = -1: last step of the problem; -1 for all.
SELECT
    uniqExact(rank) AS rank_count,
    uniqExact(rank, step) AS step_count,
    uniqExact(op, inputs, outputs) AS signature_count,
    sum(problem_call_count) AS problem_count,
    sum(bench_call_count) AS bench_count
FROM tap.signature_pairs(problem = {problem:String}, bench = {bench:String}, rank = {rank:Int64}, first_step = {first_step:Int64}, last_step = {last_step:Int64})
WHERE in_problem AND in_bench
ORDER BY rank_count
