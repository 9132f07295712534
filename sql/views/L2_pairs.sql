-- Question: what do the statistics of two runs of the same program look like side by side?
-- Grain: one row per rank, step, micro step, site of either run; what only one of them has is NULL on the other side
-- Reads: tap.observations, tap.sites, tap.ops
-- Empty when: neither run has tensors
-- Parameter problem: name of the run under suspicion.
-- Parameter bench: name of the run it is held against.
-- This is a join by numbers and names, for those who explore by hand: nothing is aligned or judged, and no rank or step
-- is looked for under another number. For that there is tap.divergence_report. NULL is what was not measured, too.
-- Relative differences are |problem - bench| / |bench|: 0 where both are the same, infinite beside a bench of 0, NaN
-- where one of them is NaN or the bench's is infinite. That of a mean near 0 says little.
SELECT
    rank,
    step,
    micro_step,
    assumeNotNull(ifNull(problem_seq, bench_seq)) AS seq,
    if(o.name = '', leftPad(lower(hex(if(s.op_id = 0, site_id, s.op_id))), 16, '0'), o.name) AS op,
    s.role AS role,
    s.path AS path,
    problem_element_count,
    bench_element_count,
    problem_min,
    bench_min,
    problem_max,
    bench_max,
    problem_mean,
    bench_mean,
    problem_l2,
    bench_l2,
    problem_nan_count,
    bench_nan_count,
    problem_infinity_count,
    bench_infinity_count,
    if(problem_mean = bench_mean, 0, abs(problem_mean - bench_mean) / abs(bench_mean)) AS mean_relative_difference,
    if(problem_l2 = bench_l2, 0, abs(problem_l2 - bench_l2) / abs(bench_l2)) AS l2_relative_difference
FROM
(
    SELECT
        rank,
        step,
        micro_step,
        site_id,
        toNullable(seq) AS problem_seq,
        toNullable(element_count) AS problem_element_count,
        if(bitTest(measured, 0), toNullable(value_min), NULL) AS problem_min,
        if(bitTest(measured, 1), toNullable(value_max), NULL) AS problem_max,
        if(bitTest(measured, 2), toNullable(value_mean), NULL) AS problem_mean,
        if(bitTest(measured, 4), toNullable(value_l2), NULL) AS problem_l2,
        if(bitTest(measured, 6), toNullable(nan_count), NULL) AS problem_nan_count,
        if(bitTest(measured, 7) AND bitTest(measured, 8), toNullable(positive_infinity_count + negative_infinity_count), NULL) AS problem_infinity_count
    FROM tap.observations(run = {problem:String}, rank = -1, first_step = 0, last_step = -1)
) AS p
FULL JOIN
(
    SELECT
        rank,
        step,
        micro_step,
        site_id,
        toNullable(seq) AS bench_seq,
        toNullable(element_count) AS bench_element_count,
        if(bitTest(measured, 0), toNullable(value_min), NULL) AS bench_min,
        if(bitTest(measured, 1), toNullable(value_max), NULL) AS bench_max,
        if(bitTest(measured, 2), toNullable(value_mean), NULL) AS bench_mean,
        if(bitTest(measured, 4), toNullable(value_l2), NULL) AS bench_l2,
        if(bitTest(measured, 6), toNullable(nan_count), NULL) AS bench_nan_count,
        if(bitTest(measured, 7) AND bitTest(measured, 8), toNullable(positive_infinity_count + negative_infinity_count), NULL) AS bench_infinity_count
    FROM tap.observations(run = {bench:String}, rank = -1, first_step = 0, last_step = -1)
) AS b USING (rank, step, micro_step, site_id)
LEFT ANY JOIN tap.sites AS s USING (site_id)
LEFT ANY JOIN tap.ops AS o ON o.op_id = s.op_id
