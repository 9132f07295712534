-- Question: which log-probability did each token have in one run, and which in the other?
-- Grain: one row per global_step, prompt, sample and position that either run has a token at
-- Reads: tap.tokens
-- Empty when: no program told the collector of tokens in either run
-- Parameter problem: name of the run that sampled.
-- Parameter bench: name of the run that scored, which it is held against.
-- Of several tokens that a run has there, the first of its lowest rank counts. A difference is problem less bench; it is usable where ids are equal and
-- logarithms are finite in both, or infinite alike.
WITH
    argMinIf((token_id, log_probability), (rank, epoch, seq), run_id = xxh3(concat({problem:String}, char(31)))) AS of_problem,
    argMinIf((token_id, log_probability), (rank, epoch, seq), run_id = xxh3(concat({bench:String}, char(31)))) AS of_bench
SELECT
    global_step,
    prompt_hash,
    sample,
    position,
    countIf(run_id = xxh3(concat({problem:String}, char(31)))) > 0 AS in_problem,
    countIf(run_id = xxh3(concat({bench:String}, char(31)))) > 0 AS in_bench,
    in_problem AND in_bench AS is_pair,
    tupleElement(of_problem, 1) = tupleElement(of_bench, 1) AS same_id,
    tupleElement(of_problem, 2) AS problem_log_probability,
    tupleElement(of_bench, 2) AS bench_log_probability,
    if(problem_log_probability = bench_log_probability, 0., problem_log_probability - bench_log_probability) AS difference,
    is_pair AND same_id AND isFinite(difference) AS usable,
    greatest(maxIf(ifNull(cached_token_count, 0), run_id = xxh3(concat({problem:String}, char(31)))), maxIf(ifNull(cached_token_count, 0), run_id = xxh3(concat({bench:String}, char(31))))) AS cached_count
FROM tap.tokens
WHERE run_id IN (xxh3(concat({problem:String}, char(31))), xxh3(concat({bench:String}, char(31))))
GROUP BY
    global_step,
    prompt_hash,
    sample,
    position
