-- Question: which program of the bench stands beside which program of the problem?
-- Grain: one row per rank and step of the problem that the bench has too
-- Reads: tap.rank_pairs, tap.served_moves, tap.trained_moves, tap.steps
-- Empty when: no step of the one has a partner in the other
-- Parameter problem: name of the run under suspicion.
-- Parameter bench: name of the run it is held against.
-- Parameter rank = -1: only this rank of the problem; -1 for all.
-- Parameter first_step = 0: first step of the problem.
-- Parameter last_step = -1: last step of the problem; -1 for all.
-- Parameter step_offset = 0: what to add to a step of the problem for that of the bench.
-- Steps pair by number, those of inference engines by what they serve, and those of trainers by what these count, as comparisons do.
WITH
    (
        SELECT groupArray((rank, step, bench_step))
        FROM tap.served_moves(problem = {problem:String}, bench = {bench:String})
        WHERE {step_offset:Int64} = 0
    ) AS served,
    (
        SELECT groupArray((rank, step, bench_step))
        FROM tap.trained_moves(problem = {problem:String}, bench = {bench:String})
        WHERE {step_offset:Int64} = 0
    ) AS trained,
    if(empty(served), trained, served) AS moves,
    arrayMap(move -> bitShiftLeft(toUInt64(move.1), 32) + move.2, moves) AS problem_places,
    arrayMap(move -> toInt64(move.3), moves) AS bench_steps
SELECT
    rank_pair.problem_rank AS rank,
    rank_pair.bench_rank AS bench_rank,
    p.step AS step,
    toUInt32(p.bench_step) AS bench_step,
    p.program_id AS problem_program_id,
    b.program_id AS bench_program_id
FROM
(
    SELECT
        problem_rank,
        bench_rank
    FROM tap.rank_pairs(problem = {problem:String}, bench = {bench:String})
    WHERE {rank:Int64} = -1 OR problem_rank = {rank:Int64}
) AS rank_pair
INNER JOIN
(
    SELECT DISTINCT
        rank,
        step,
        if(empty(moves), toInt64(step) + {step_offset:Int64}, transform(bitShiftLeft(toUInt64(rank), 32) + step, problem_places, bench_steps, toInt64(-1))) AS bench_step,
        program_id
    FROM tap.steps
    WHERE run_id = xxh3(concat({problem:String}, char(31)))
        AND step >= {first_step:Int64}
        AND ({last_step:Int64} = -1 OR step <= {last_step:Int64})
) AS p ON p.rank = rank_pair.problem_rank
INNER JOIN
(
    SELECT DISTINCT
        rank,
        toInt64(step) AS step,
        program_id
    FROM tap.steps
    WHERE run_id = xxh3(concat({bench:String}, char(31)))
) AS b ON b.rank = rank_pair.bench_rank AND b.step = p.bench_step
