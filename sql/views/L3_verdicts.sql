-- Question: what does the recorded evidence say about each pair of tensors?
-- Grain: one row per rank, step, micro step, site of either run
-- Reads: tap.pairs, tap.layouts, tap.main_dtypes, tap.steps, tap.site_rules, tap.same_layouts, tap.payload_errors, tap.completeness, tap.rank_pairs
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
-- Errors are relative L2 errors. With x bench, y problem of n elements: |x-y| >= ||x|-|y||, >= |mean x - mean y| sqrt n,
-- >= |max x - max y|, >= |min x - min y|. From the first two the rounding of a sum in the tensor's own dtype is taken
-- off, u log2 n for pairwise summation (Higham, Accuracy and Stability of Numerical Algorithms, 4.2).
-- A sketch of k buckets gives an estimate whose square is distributed as chi-square with k degrees; its quantiles at
-- 2.5 and 97.5 % are those of Wilson and Hilferty.
WITH
    (
        SELECT (
            groupArray(layout_id),
            groupArray(multiIf(
                match(dtype, 'float8_e5m2'), 0.125,
                match(dtype, 'float8'), 0.0625,
                match(dtype, 'bfloat16'), 0.00390625,
                match(dtype, '(?i)float16|half'), 0.00048828125,
                match(dtype, '(?i)float64|double|complex128'), 1.1102230246251565e-16,
                match(dtype, '(?i)float|complex'), 5.960464477539063e-8,
                0.)),
            groupArray(dtype))
        FROM tap.layouts
        WHERE kind = 'tensor'
    ) AS traits,
    (
        SELECT max(transform(dtype, traits.3, traits.2, 0.))
        FROM tap.main_dtypes
        WHERE run_id IN (xxh3(concat({problem:String}, char(31))), xxh3(concat({bench:String}, char(31))))
    ) AS main_roundoff,
    -- Whole tensors without elements, and literals: their layouts say all.
    (
        SELECT groupArray(layout_id)
        FROM tap.layouts
        WHERE kind NOT IN ('tensor', 'other') OR (kind = 'tensor' AND has(shape, 0))
    ) AS telling_layouts,
    payloads AS (
        SELECT
            rank,
            step,
            problem_site_id,
            bench_site_id,
            same_bits,
            relative_l2,
            true AS found
        FROM tap.payload_errors
        WHERE problem_run_id = xxh3(concat({problem:String}, char(31))) AND bench_run_id = xxh3(concat({bench:String}, char(31)))
    ),
    -- In numbers of the problem: steps that both have, and ranks of which either run lacks something.
    rank_pairs AS (
        SELECT
            problem_rank,
            bench_rank
        FROM tap.rank_pairs(problem = {problem:String}, bench = {bench:String})
    ),
    (
        SELECT groupArray((toUInt32(problem_rank), toUInt32(p.step)))
        FROM rank_pairs
        INNER JOIN tap.steps AS p ON p.rank = rank_pairs.problem_rank
        INNER JOIN tap.steps AS b ON b.rank = rank_pairs.bench_rank
        WHERE p.run_id = xxh3(concat({problem:String}, char(31)))
            AND b.run_id = xxh3(concat({bench:String}, char(31)))
            AND b.step = p.step + {step_offset:Int64}
    ) AS shared_steps,
    (
        SELECT (groupUniqArrayIf(problem_rank, run = {problem:String}), groupUniqArrayIf(problem_rank, run = {bench:String}))
        FROM tap.completeness AS completeness
        CROSS JOIN rank_pairs
        WHERE completeness.rank = if(run = {problem:String}, problem_rank, bench_rank) AND NOT complete AND run IN ({problem:String}, {bench:String})
    ) AS incomplete_ranks,
    judged AS (
        SELECT
            pair.rank AS rank,
            pair.bench_rank AS bench_rank,
            pair.step AS step,
            pair.micro_step AS micro_step,
            pair.seq AS seq,
            pair.site_id AS site_id,
            pair.bench_site_id AS bench_site_id,
            pair.problem_present AS problem_present,
            pair.bench_present AS bench_present,
            pair.problem_layout_id AS problem_layout_id,
            pair.bench_layout_id AS bench_layout_id,
            pair.problem_measured AS problem_measured,
            pair.bench_measured AS bench_measured,
            pair.problem_element_count AS problem_element_count,
            pair.bench_element_count AS bench_element_count,
            pair.problem_min AS problem_min,
            pair.bench_min AS bench_min,
            pair.problem_max AS problem_max,
            pair.bench_max AS bench_max,
            pair.problem_mean AS problem_mean,
            pair.bench_mean AS bench_mean,
            pair.problem_l2 AS problem_l2,
            pair.bench_l2 AS bench_l2,
            pair.problem_digest_kind AS problem_digest_kind,
            pair.bench_digest_kind AS bench_digest_kind,
            pair.problem_present AND pair.bench_present AS paired,
            paired AND pair.problem_layout_id != pair.bench_layout_id AND (pair.problem_layout_id, pair.bench_layout_id) NOT IN (
                SELECT
                    problem_layout_id,
                    bench_layout_id
                FROM tap.same_layouts(problem = {problem:String}, bench = {bench:String})
            ) AS structure,
            greatest(
                transform(pair.problem_layout_id, traits.1, traits.2, 0.),
                transform(pair.bench_layout_id, traits.1, traits.2, 0.)) AS own_roundoff,
            -- A tensor of float32 that was computed from those of bfloat16 is no better than they are.
            if(own_roundoff = 0, 0., greatest(own_roundoff, main_roundoff)) AS roundoff,
            pair.problem_nan_count + pair.problem_positive_infinity_count + pair.problem_negative_infinity_count AS problem_not_finite_count,
            pair.bench_nan_count + pair.bench_positive_infinity_count + pair.bench_negative_infinity_count AS bench_not_finite_count,
            problem_not_finite_count > 0 OR NOT isFinite(pair.problem_min) OR NOT isFinite(pair.problem_max) OR NOT isFinite(pair.problem_mean) AS problem_not_finite,
            bench_not_finite_count > 0 OR NOT isFinite(pair.bench_min) OR NOT isFinite(pair.bench_max) OR NOT isFinite(pair.bench_mean) AS bench_not_finite,
            problem_not_finite AND bench_not_finite
                AND (pair.problem_nan_count, pair.problem_positive_infinity_count, pair.problem_negative_infinity_count)
                    = (pair.bench_nan_count, pair.bench_positive_infinity_count, pair.bench_negative_infinity_count)
                AND isNaN(pair.problem_min) = isNaN(pair.bench_min)
                AND isNaN(pair.problem_max) = isNaN(pair.bench_max)
                AND (isInfinite(pair.problem_min) OR isInfinite(pair.bench_min)) <= (pair.problem_min = pair.bench_min)
                AND (isInfinite(pair.problem_max) OR isInfinite(pair.bench_max)) <= (pair.problem_max = pair.bench_max) AS same_not_finite,
            site.exception_sort = 'negative_infinity'
                AND pair.problem_nan_count + pair.bench_nan_count + pair.problem_positive_infinity_count + pair.bench_positive_infinity_count = 0
                AND NOT isNaN(pair.problem_min) AND NOT isNaN(pair.problem_max) AND pair.problem_max != inf AS is_mask,
            bitAnd(pair.problem_measured, pair.bench_measured) AS both_measured,
            -- What an infinite or unmeasured statistic says is left to not_finite; without a norm any difference is infinite.
            if(isFinite(pair.bench_l2), pair.bench_l2, greatest(if(isFinite(pair.bench_min), abs(pair.bench_min), 0.), if(isFinite(pair.bench_max), abs(pair.bench_max), 0.))) AS scale,
            own_roundoff * (1 + log2(1 + pair.problem_element_count)) AS sum_roundoff,
            if(bitTest(both_measured, 0) AND isFinite(pair.problem_min) AND isFinite(pair.bench_min), abs(pair.problem_min - pair.bench_min), 0.) AS delta_min,
            if(bitTest(both_measured, 1) AND isFinite(pair.problem_max) AND isFinite(pair.bench_max), abs(pair.problem_max - pair.bench_max), 0.) AS delta_max,
            if(bitTest(both_measured, 2) AND isFinite(pair.problem_mean) AND isFinite(pair.bench_mean), abs(pair.problem_mean - pair.bench_mean) * sqrt(pair.problem_element_count), 0.) AS delta_mean,
            if(bitTest(both_measured, 4) AND isFinite(pair.problem_l2) AND isFinite(pair.bench_l2), abs(pair.problem_l2 - pair.bench_l2), 0.) AS delta_l2,
            greatest(delta_min, delta_max, delta_mean, delta_l2) AS delta,
            greatest(delta_min, delta_max) AS exact_delta,
            bitAnd(both_measured, 19) = 0 AS no_statistics,
            multiIf(no_statistics, nan, delta = 0, 0., scale = 0, inf, delta / scale) AS statistics_error,
            multiIf(no_statistics, nan, delta = 0, 0., scale = 0, inf, greatest(exact_delta / scale, greatest(delta_mean, delta_l2) / scale - sum_roundoff)) AS statistics_low,
            length(pair.problem_sketch) AS bucket_count,
            bucket_count > 0 AND bucket_count = length(pair.bench_sketch) AS both_sketched,
            if(both_sketched, sqrt(arraySum((x, y) -> (toFloat64(x) - y) * (toFloat64(x) - y), pair.problem_sketch, arrayResize(pair.bench_sketch, bucket_count))), 0.) AS sketch_distance,
            multiIf(NOT both_sketched, nan, sketch_distance = 0, 0., scale = 0, inf, sketch_distance / scale) AS sketch_error,
            2 / (9 * bucket_count) AS chi_term,
            sketch_error / sqrt(pow(1 - chi_term + 1.96 * sqrt(chi_term), 3)) AS sketch_low,
            sketch_error / sqrt(pow(1 - chi_term - 1.96 * sqrt(chi_term), 3)) AS sketch_high,
            if(pair.problem_digest_kind = pair.bench_digest_kind, pair.problem_digest_kind, 0) AS digest_kind,
            digest_kind != 0 AND pair.problem_digest = pair.bench_digest AS same_digest,
            digest_kind != 0 AND pair.problem_digest != pair.bench_digest AS bits_differ,
            payload.found AND payload.relative_l2 IS NOT NULL AS has_payload,
            payload.same_bits AS payload_same,
            assumeNotNull(payload.relative_l2) AS payload_error,
            site.exception_sort AS exception_sort,
            if(empty(site.rules), [], arrayFilter(rule -> transform(pair.bench_layout_id, traits.1, traits.3, '') LIKE rule.1, site.rules)) AS fitting_rules,
            if(site.band_run_count < 3, nan, (statistics_error - site.band_mean) / site.band_deviation) AS z_score,
            multiIf(
                NOT paired OR roundoff = 0, 0.,
                site.band_run_count >= 3, greatest(site.band_mean + 3 * site.band_deviation, roundoff),
                notEmpty(fitting_rules), fitting_rules[1].2,
                {tolerance:Float64} >= 0, {tolerance:Float64},
                site.tolerated_roundoffs = 0, 4 * sqrt(32) * roundoff,
                site.tolerated_roundoffs * roundoff) AS tolerated,
            -- A proof is stronger than an estimate that does not see it.
            both_sketched AND NOT (statistics_low > tolerated AND sketch_low <= tolerated) AS by_sketch,
            statistics_low > tolerated AND NOT by_sketch AS by_statistics
        FROM tap.pairs(problem = {problem:String}, bench = {bench:String}, rank = {rank:Int64}, first_step = {first_step:Int64}, last_step = {last_step:Int64}, step_offset = {step_offset:Int64}) AS pair
        LEFT ANY JOIN tap.site_rules(problem = {problem:String}, bench = {bench:String}, benches = {benches:Array(String)}, tolerances = {tolerances:Array(Tuple(String, String, Float64))}) AS site ON site.site_id = pair.site_id
        LEFT ANY JOIN payloads AS payload ON payload.rank = pair.rank AND payload.step = pair.step AND payload.problem_site_id = pair.site_id AND payload.bench_site_id = pair.bench_site_id
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
    multiIf(numeric = 'not_finite', nan, has_payload, payload_error, by_sketch, sketch_error, statistics_error) AS error,
    multiIf(isNaN(error), nan, has_payload, payload_error, by_sketch, greatest(sketch_low, statistics_low), statistics_low) AS error_low,
    multiIf(isNaN(error), nan, has_payload, payload_error, by_sketch, sketch_high, inf) AS error_high,
    if(numeric IN ('within', 'agrees', 'diverged') AND NOT isNaN(error), tolerated, nan) AS tolerance,
    z_score,
    CAST(multiIf(
        NOT paired OR (numeric = 'none' AND NOT bits_differ), 0,
        has_payload, 6,
        same_digest AND digest_kind = 3, 5,
        problem_layout_id = bench_layout_id AND has(telling_layouts, problem_layout_id), 7,
        by_sketch, 2,
        by_statistics OR NOT (same_digest OR no_statistics), 1,
        digest_kind = 1, 4,
        digest_kind = 2, 3,
        digest_kind = 3, 5,
        1) AS Enum8('none' = 0, 'statistics' = 1, 'sketch' = 2, 'digest(xor)' = 3, 'digest(msprobe)' = 4, 'digest' = 5, 'payload' = 6, 'literal' = 7)) AS evidence,
    CAST(multiIf(
        NOT paired, 0,
        (problem_not_finite OR bench_not_finite) AND NOT (same_not_finite AND is_mask), 5,
        has_payload AND payload_same, 1,
        has_payload AND payload_error <= tolerated, 2,
        has_payload, 4,
        same_digest AND digest_kind = 3, 1,
        problem_layout_id = bench_layout_id AND has(telling_layouts, problem_layout_id), 1,
        by_statistics OR (by_sketch AND sketch_low > tolerated), 4,
        bitAnd(problem_measured, 23) != bitAnd(bench_measured, 23), 0,
        by_sketch AND sketch_error > 0 AND sketch_high <= tolerated, 2,
        NOT no_statistics OR both_sketched OR same_digest, 3,
        0) AS Enum8('none' = 0, 'equal' = 1, 'within' = 2, 'agrees' = 3, 'diverged' = 4, 'not_finite' = 5)) AS numeric,
    CAST(multiIf(
        NOT paired AND reason IN ('only in problem', 'only in bench'), 6,
        NOT paired, 7,
        structure, 5,
        exception_sort = 'uninitialised', 7,
        numeric = 'not_finite', 4,
        numeric = 'none', 7,
        numeric = 'diverged', 3,
        numeric = 'equal', 0,
        numeric = 'within', 1,
        2) AS Enum8('equal' = 0, 'within' = 1, 'agrees' = 2, 'diverged' = 3, 'not_finite' = 4, 'structure' = 5, 'unpaired' = 6, 'unknown' = 7)) AS verdict,
    CAST(multiIf(
        NOT bench_present, 1,
        NOT problem_present, 2,
        problem_not_finite + 2 * bench_not_finite) AS Enum8('none' = 0, 'problem' = 1, 'bench' = 2, 'both' = 3)) AS side,
    multiIf(
        paired AND exception_sort = 'uninitialised', 'uninitialised',
        paired AND numeric != 'none', '',
        paired AND bitAnd(problem_measured, 23) != bitAnd(bench_measured, 23), 'not measured on both sides',
        paired AND bits_differ, 'bits differ',
        paired, 'not measured',
        has(if(problem_present, incomplete_ranks.2, incomplete_ranks.1), rank), if(problem_present, 'bench rank incomplete', 'problem rank incomplete'),
        NOT has(shared_steps, (rank, step)), if(problem_present, 'no such step in bench', 'no such step in problem'),
        problem_present, 'only in problem',
        'only in bench') AS reason,
    verdict IN ('diverged', 'structure') OR (verdict = 'not_finite' AND NOT same_not_finite) OR (verdict = 'unknown' AND reason IN ('bits differ', 'not measured on both sides')) AS differs
FROM judged
