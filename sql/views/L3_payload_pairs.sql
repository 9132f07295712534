-- Question: which raw tensor of the problem run is to be compared with which of the bench run?
-- Grain: one row per rank, step and pair of sites of which both runs kept a raw tensor
-- Reads: tap.pairs, tap.rank_pairs, tap.payloads
-- Empty when: the runs kept no raw tensors of the same places
-- Parameter problem: name of the run under suspicion.
-- Parameter bench: name of the run it is held against.
-- Parameter rank = -1: only this rank of the problem; -1 for all.
-- Parameter first_step = 0: first step of the problem.
-- Parameter last_step = -1: last step of the problem; -1 for all.
-- Parameter step_offset = 0: what to add to a step of the problem for that of the bench.
-- Where the partner has another name, the bench's tensor of the same name is there too: msProbe compares that one.
WITH
    problem_payloads AS (
        SELECT
            rank,
            step,
            site_id,
            min(payload.location) AS location
        FROM tap.payloads AS payload
        WHERE run_id = xxh3(concat({problem:String}, char(31)))
            AND ({rank:Int64} = -1 OR rank = {rank:Int64})
            AND step >= {first_step:Int64}
            AND ({last_step:Int64} = -1 OR step <= {last_step:Int64})
        GROUP BY
            rank,
            step,
            site_id
    ),
    bench_payloads AS (
        SELECT
            rank,
            toInt64(step) - {step_offset:Int64} AS problem_step,
            site_id,
            min(payload.location) AS location
        FROM tap.payloads AS payload
        WHERE run_id = xxh3(concat({bench:String}, char(31)))
        GROUP BY
            rank,
            step,
            site_id
    )
SELECT
    wanted.rank AS rank,
    wanted.bench_rank AS bench_rank,
    wanted.step AS step,
    wanted.problem_site_id AS problem_site_id,
    wanted.bench_site_id AS bench_site_id,
    p.location AS problem_location,
    b.location AS bench_location
FROM
(
    SELECT
        rank,
        bench_rank,
        step,
        site_id AS problem_site_id,
        bench_site_id
    FROM tap.pairs(problem = {problem:String}, bench = {bench:String}, rank = {rank:Int64}, first_step = {first_step:Int64}, last_step = {last_step:Int64}, step_offset = {step_offset:Int64})
    WHERE problem_present
        AND bench_present
    UNION DISTINCT
    SELECT
        same.rank AS rank,
        rank_pair.bench_rank AS bench_rank,
        same.step AS step,
        same.site_id AS problem_site_id,
        same.site_id AS bench_site_id
    FROM problem_payloads AS same
    INNER JOIN tap.rank_pairs(problem = {problem:String}, bench = {bench:String}) AS rank_pair ON rank_pair.problem_rank = same.rank
) AS wanted
INNER JOIN problem_payloads AS p ON p.rank = wanted.rank
    AND p.step = wanted.step
    AND p.site_id = wanted.problem_site_id
INNER JOIN bench_payloads AS b ON b.rank = wanted.bench_rank
    AND b.problem_step = toInt64(wanted.step)
    AND b.site_id = wanted.bench_site_id
