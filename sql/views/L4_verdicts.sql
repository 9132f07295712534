-- Question: what does the recorded evidence say about each pair of tensors?
-- Grain: one row per rank, step, micro step, site of either run
-- Reads: tap.pair_errors, tap.program_pairs, tap.completeness, tap.rank_pairs
-- Empty when: neither run has tensors at that rank and step
-- Parameter problem: name of the run under suspicion.
-- Parameter bench: name of the run it is held against.
-- Parameter benches = []: names of further bench runs; from three on in all, their spread is the tolerance.
-- Parameter tolerance = -1: greatest relative error that is tolerated; -1 for one by dtype and depth.
-- Parameter tolerances = []: rules (op pattern, dtype pattern, tolerance) that go before it, the first that fits counts; * stands for any text.
-- Parameter rank = -1: only this rank of the problem; -1 for all.
-- Parameter first_step = 0: first step of the problem.
-- Parameter last_step = -1: last step of the problem; -1 for all.
-- Parameter step_offset = 0: what to add to a step of the problem for that of the bench.
-- Evidence is, from the strongest on: payload, digest, sketch, statistics. A digest that differs says that bits differ,
-- and leaves the rest to the next. What statistics cannot tell apart agrees; that is less than within. Bits that differ
-- under the very same statistics are unknown: a difference by our digest, or where nothing else was measured.
-- Beside AND and OR, IN stands for = and != for the reason given in pair_errors.
WITH
    -- Ranks of the problem of whose rows, or partners, something is missing.
    (
        SELECT (groupUniqArrayIf(problem_rank, run = {problem:String}), groupUniqArrayIf(problem_rank, run = {bench:String}))
        FROM tap.completeness AS completeness
        CROSS JOIN tap.rank_pairs(problem = {problem:String}, bench = {bench:String}) AS rank_pairs
        WHERE completeness.rank = if(run = {problem:String}, problem_rank, bench_rank) AND NOT complete AND run IN ({problem:String}, {bench:String})
    ) AS incomplete_ranks,
    (
        SELECT groupUniqArray((rank, step))
        FROM tap.program_pairs(problem = {problem:String}, bench = {bench:String}, rank = -1, first_step = 0, last_step = -1, step_offset = {step_offset:Int64})
    ) AS common_steps,
    weighed AS (
        SELECT
            rank,
            bench_rank,
            step,
            micro_step,
            seq,
            site_id,
            bench_site_id,
            problem_present,
            bench_present,
            problem_layout_id,
            bench_layout_id,
            problem_measured,
            bench_measured,
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
            problem_not_finite_count,
            bench_not_finite_count,
            problem_digest_kind,
            bench_digest_kind,
            paired,
            marked, -- of merged ranks, what is no copy and no shard
            structure,
            exception_sort,
            problem_not_finite,
            bench_not_finite,
            same_not_finite,
            digest_kind,
            same_digest,
            bits_differ,
            has_payload,
            payload_error,
            no_statistics,
            statistics_error,
            statistics_low,
            both_sketched,
            sketch_error,
            sketch_low,
            sketch_high,
            same_literal,
            tolerated,
            z_score,
            -- A proof is stronger than an estimate that does not see it.
            both_sketched AND NOT (statistics_low > tolerated AND sketch_low <= tolerated) AS by_sketch,
            statistics_low > tolerated AND NOT by_sketch AS by_statistics,
            multiIf(
                NOT paired, 'none',
                (problem_not_finite OR bench_not_finite) AND NOT (same_not_finite AND is_mask), 'not_finite',
                has_payload AND payload_same, 'equal',
                has_payload AND payload_error <= tolerated, 'within',
                has_payload, 'diverged',
                -- Of what only adds up, it can be said that it does so, and nothing against it.
                marked AND both_sketched, if(by_sketch AND sketch_error > 0 AND sketch_high <= tolerated, 'within', 'none'),
                marked, if(NOT no_statistics AND statistics_low <= 0, 'agrees', 'none'),
                (same_digest AND digest_kind IN (3)) OR same_literal, 'equal',
                by_statistics OR (by_sketch AND sketch_low > tolerated), 'diverged',
                bitAnd(problem_measured, 23) != bitAnd(bench_measured, 23), 'none',
                by_sketch AND sketch_error > 0 AND sketch_high <= tolerated, 'within',
                bits_differ AND (no_statistics OR statistics_error <= 0) AND (NOT both_sketched OR sketch_error <= 0), 'none',
                NOT no_statistics OR both_sketched OR same_digest, 'agrees',
                'none') AS numbers,
            multiIf(
                paired AND exception_sort IN ('uninitialised', 'cast', 'identifier'), exception_sort,
                paired AND numbers NOT IN ('none'), '',
                marked AND bitTest(bitOr(problem_measured, bench_measured), 16), 'ranks hold different values',
                marked AND bitTest(bitOr(problem_measured, bench_measured), 17), 'follows from the number of ranks',
                marked AND bitTest(bitOr(problem_measured, bench_measured), 18), 'parts of ranks do not make a whole',
                marked, 'was still being added up',
                paired AND bitAnd(problem_measured, 23) != bitAnd(bench_measured, 23), 'not measured on both sides',
                paired AND bits_differ, 'bits differ',
                paired, 'not measured',
                has(if(problem_present, incomplete_ranks.2, incomplete_ranks.1), rank), if(problem_present, 'bench rank incomplete', 'problem rank incomplete'),
                (rank, step) NOT IN (
                    SELECT arrayJoin(common_steps)
                ), if(problem_present, 'no such step in bench', 'no such step in problem'),
                if(problem_present, 'only in problem', 'only in bench')) AS reason
        FROM tap.pair_errors(problem = {problem:String}, bench = {bench:String}, benches = {benches:Array(String)}, tolerance = {tolerance:Float64}, tolerances = {tolerances:Array(Tuple(String, String, Float64))}, rank = {rank:Int64}, first_step = {first_step:Int64}, last_step = {last_step:Int64}, step_offset = {step_offset:Int64})
    )
SELECT
    rank,
    bench_rank,
    step,
    micro_step,
    seq,
    site_id,
    bench_site_id,
    problem_present,
    bench_present,
    problem_layout_id,
    bench_layout_id,
    problem_measured,
    bench_measured,
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
    problem_not_finite_count,
    bench_not_finite_count,
    problem_digest_kind,
    bench_digest_kind,
    structure,
    multiIf(numbers = 'not_finite', nan, has_payload, payload_error, by_sketch, sketch_error, statistics_error) AS error,
    multiIf(numbers = 'not_finite', nan, has_payload, payload_error, by_sketch, greatest(sketch_low, statistics_low), statistics_low) AS error_low,
    multiIf(isNaN(error), nan, has_payload, payload_error, by_sketch, sketch_high, inf) AS error_high,
    if(numbers IN ('within', 'agrees', 'diverged') AND NOT isNaN(error), tolerated, nan) AS tolerance,
    z_score,
    CAST(multiIf(
        NOT paired OR (numbers IN ('none') AND NOT bits_differ), 'none',
        has_payload, 'payload',
        same_digest AND digest_kind IN (3), 'digest',
        same_literal, 'literal',
        by_sketch, 'sketch',
        by_statistics OR NOT (same_digest OR no_statistics), 'statistics',
        digest_kind = 1, 'digest(msprobe)',
        digest_kind = 2, 'digest(xor)',
        digest_kind = 3, 'digest',
        'statistics') AS Enum8('none' = 0, 'statistics' = 1, 'sketch' = 2, 'digest(xor)' = 3, 'digest(msprobe)' = 4, 'digest' = 5, 'payload' = 6, 'literal' = 7)) AS evidence,
    CAST(numbers AS Enum8('none' = 0, 'equal' = 1, 'within' = 2, 'agrees' = 3, 'diverged' = 4, 'not_finite' = 5)) AS numeric,
    CAST(multiIf(
        NOT paired AND reason IN ('only in problem', 'only in bench'), 'unpaired',
        NOT paired, 'unknown',
        structure AND NOT (marked AND numbers IN ('none')), 'structure',
        exception_sort IN ('uninitialised', 'cast', 'identifier') OR numbers IN ('none'), 'unknown',
        numbers) AS Enum8('equal' = 0, 'within' = 1, 'agrees' = 2, 'diverged' = 3, 'not_finite' = 4, 'structure' = 5, 'unpaired' = 6, 'unknown' = 7)) AS verdict,
    CAST(multiIf(
        NOT bench_present, 1,
        NOT problem_present, 2,
        problem_not_finite + 2 * bench_not_finite) AS Enum8('none' = 0, 'problem' = 1, 'bench' = 2, 'both' = 3)) AS side,
    reason,
    verdict IN ('diverged', 'structure') OR (verdict IN ('not_finite') AND NOT same_not_finite) OR (verdict IN ('unknown') AND (
        reason IN ('not measured on both sides')
        OR (reason IN ('bits differ') AND (digest_kind IN (3) OR no_statistics)))) AS differs
FROM weighed
