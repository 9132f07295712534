-- Question: what do the recorded statistics and digests say about each pair of tensors?
-- Grain: one row per rank, step, micro step, site of either run
-- Reads: tap.pairs, tap.layouts
-- Empty when: neither run has tensors at that rank and step
-- Parameter problem: name of the run under suspicion.
-- Parameter bench: name of the run it is held against.
-- Parameter tolerance = 1e-5: greatest relative error that still agrees.
-- Parameter rank = -1: only this rank; -1 for all.
-- Parameter step = -1: only this step; -1 for all.
WITH
    bitAnd(problem_measured, bench_measured) AS both_measured,
    bitAnd(both_measured, 19) AS both_comparable,
    problem_not_finite_count > 0 OR NOT isFinite(problem_min) OR NOT isFinite(problem_max) AS problem_not_finite,
    bench_not_finite_count > 0 OR NOT isFinite(bench_min) OR NOT isFinite(bench_max) AS bench_not_finite,
    -- The same NaN or infinity on both sides is no difference: masks are made of them.
    problem_not_finite_count = bench_not_finite_count
        AND isNaN(problem_min) = isNaN(bench_min)
        AND isNaN(problem_max) = isNaN(bench_max)
        AND (isInfinite(problem_min) OR isInfinite(bench_min)) <= (problem_min = bench_min)
        AND (isInfinite(problem_max) OR isInfinite(bench_max)) <= (problem_max = bench_max) AS same_not_finite,
    if(bitTest(both_measured, 0) AND problem_min != bench_min AND NOT (isNaN(problem_min) AND isNaN(bench_min)), abs(problem_min - bench_min), 0.) AS delta_min,
    if(bitTest(both_measured, 1) AND problem_max != bench_max AND NOT (isNaN(problem_max) AND isNaN(bench_max)), abs(problem_max - bench_max), 0.) AS delta_max,
    if(bitTest(both_measured, 4) AND problem_l2 != bench_l2 AND NOT (isNaN(problem_l2) AND isNaN(bench_l2)), abs(problem_l2 - bench_l2), 0.) AS delta_l2,
    greatest(delta_min, delta_max, delta_l2) AS delta,
    -- A norm that overflowed in the tensor's own dtype is no scale; without a norm any difference is infinite.
    multiIf(
        NOT bitTest(both_measured, 4), 0.,
        isFinite(bench_l2), abs(bench_l2),
        greatest(if(isFinite(bench_min), abs(bench_min), 0.), if(isFinite(bench_max), abs(bench_max), 0.))) AS scale
SELECT
    rank,
    step,
    micro_step,
    site_id,
    seq,
    problem_present,
    bench_present,
    problem_layout_id,
    bench_layout_id,
    problem_measured,
    bench_measured,
    problem_min,
    bench_min,
    problem_max,
    bench_max,
    problem_mean,
    bench_mean,
    problem_l2,
    bench_l2,
    problem_digest_kind,
    bench_digest_kind,
    -- Guard against zero: no difference is 0, also of 0 and 0; a difference from 0 is infinite. NaN: nothing to compare.
    multiIf(
        both_comparable = 0, nan,
        isNaN(delta_min + delta_max + delta_l2), inf,
        delta = 0, 0.,
        scale = 0, inf,
        delta / scale) AS error,
    problem_present AND bench_present AND problem_layout_id != bench_layout_id AND (problem_layout_id, bench_layout_id) NOT IN (
        SELECT
            p.layout_id,
            b.layout_id
        FROM tap.layouts AS p
        INNER JOIN tap.layouts AS b ON p.kind = b.kind AND p.dtype = b.dtype AND p.shape = b.shape AND p.literal = b.literal
        WHERE p.layout_id != b.layout_id AND (p.requires_grad = b.requires_grad OR p.requires_grad IS NULL OR b.requires_grad IS NULL)
    ) AS structure,
    CAST(multiIf(
        NOT bench_present, 6,
        NOT problem_present, 7,
        (problem_not_finite OR bench_not_finite) AND NOT same_not_finite, 2,
        error > {tolerance:Float64}, 1,
        bitAnd(problem_measured, 23) != bitAnd(bench_measured, 23), 4,
        both_comparable != 0, 0,
        problem_digest_kind != bench_digest_kind, 4,
        problem_digest_kind = 0, 5,
        problem_digest = bench_digest, 0,
        3) AS Enum8('agrees' = 0, 'diverged' = 1, 'not_finite' = 2, 'bits_differ' = 3, 'incomparable' = 4, 'unmeasured' = 5, 'only_problem' = 6, 'only_bench' = 7)) AS verdict,
    structure OR verdict IN ('diverged', 'not_finite', 'bits_differ', 'incomparable') AS differs,
    CAST(problem_not_finite + 2 * bench_not_finite AS Enum8('none' = 0, 'problem' = 1, 'bench' = 2, 'both' = 3)) AS not_finite_side
FROM tap.pairs(problem = {problem:String}, bench = {bench:String}, rank = {rank:Int64}, step = {step:Int64})
