-- Question: how often did two runs call each ATen op, with which tensors, in steps that stand beside each other?
-- Grain: one row per rank, step, op, inputs, outputs that either run called; what is alone keeps the numbers of its own run
-- Reads: tap.signature_counts, tap.program_pairs
-- Empty when: no rank of either was recorded at level aten
-- Parameter problem: name of the run under suspicion.
-- Parameter bench: name of the run it is held against.
-- Parameter rank = -1: only this rank of the problem; -1 for all.
-- Parameter first_step = 0: first step of the problem.
-- Parameter last_step = -1: last step of the problem; -1 for all.
-- Ranks and steps pair as in tap.program_pairs. A rank or step of the bench without partner is told apart from that of the same
-- number of the problem.
WITH
    partners AS (
        SELECT DISTINCT
            false AS is_problem,
            bench_rank AS own_rank,
            bench_step AS own_step,
            rank,
            step,
            true AS found
        FROM tap.program_pairs(problem = {problem:String}, bench = {bench:String}, rank = -1, first_step = 0, last_step = -1, step_offset = 0)
    ),
    counted AS (
        SELECT
            arrayJoin(arrayFilter(side -> n.run_id = xxh3(concat(if(side, {problem:String}, {bench:String}), char(31))), [true, false])) AS is_problem,
            n.rank AS own_rank,
            n.step AS own_step,
            n.position AS place,
            n.op_name AS op,
            n.inputs AS inputs,
            n.outputs AS outputs,
            n.module_path AS module_path,
            n.call_count AS call_count
        FROM tap.signature_counts AS n
        WHERE n.run_id IN (xxh3(concat({problem:String}, char(31))), xxh3(concat({bench:String}, char(31))))
    ),
    placed AS (
        SELECT
            c.is_problem AS is_problem,
            if(partner.found, partner.rank, c.own_rank) AS rank,
            if(partner.found, partner.step, c.own_step) AS step,
            c.is_problem OR partner.found AS has_place,
            c.place AS place,
            c.op AS op,
            c.inputs AS inputs,
            c.outputs AS outputs,
            c.module_path AS module_path,
            c.call_count AS call_count
        FROM counted AS c
        LEFT JOIN partners AS partner ON partner.is_problem = c.is_problem AND partner.own_rank = c.own_rank AND partner.own_step = c.own_step
    )
SELECT
    rank,
    step,
    op,
    inputs,
    outputs,
    module_path,
    problem_call_count,
    bench_call_count,
    max(problem_call_count) OVER (PARTITION BY rank, step, has_place) > 0 AS in_problem,
    max(bench_call_count) OVER (PARTITION BY rank, step, has_place) > 0 AS in_bench
FROM
(
    SELECT
        p.rank AS rank,
        p.step AS step,
        p.has_place AS has_place,
        p.op AS op,
        p.inputs AS inputs,
        p.outputs AS outputs,
        argMin(p.module_path, p.place) AS module_path,
        sumIf(p.call_count, p.is_problem) AS problem_call_count,
        sumIf(p.call_count, NOT p.is_problem) AS bench_call_count
    FROM placed AS p
    WHERE ({rank:Int64} = -1 OR p.rank = {rank:Int64})
        AND p.step >= {first_step:Int64}
        AND ({last_step:Int64} = -1 OR p.step <= {last_step:Int64})
    GROUP BY
        p.rank,
        p.step,
        p.has_place,
        p.op,
        p.inputs,
        p.outputs
)
