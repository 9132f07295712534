-- Question: how far are the two tensors of each pair apart, by each kind of evidence, and how far may they be?
-- Grain: one row per rank, step, micro step, site of either run
-- Reads: tap.pairs, tap.layouts, tap.main_dtypes, tap.site_rules, tap.same_layouts, tap.payload_errors, tap_store.run
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
-- >= |max x - max y|, >= |min x - min y|. From the first two the rounding of a sum is taken off, u log2 n for pairwise
-- summation (Higham, Accuracy and Stability of Numerical Algorithms, 4.2): msProbe sums in the tensor's own dtype, the
-- collector in float32 or better, SGLang's dumps are summed in float64. As analysis/judge does.
-- Without other rules up to 4 u sqrt(depth) is tolerated, and four times that of float32 and float64: they are summed up
-- in their own precision, dtypes of 16 bits and less in float32. Eager against fused attention stays below half of it.
-- A sketch of k buckets gives an estimate whose square is distributed as chi-square with k degrees; its quantiles at
-- 2.5 and 97.5 % are those of Wilson and Hilferty.
-- Beside AND and OR nothing is compared with a constant by = or !=: for each such the database hashes all that stands
-- below, which took it as long as the rest of the plan. IN says the same.
WITH
    (
        SELECT (groupArray(run_id), groupArray(dtype))
        FROM tap.main_dtypes
        WHERE run_id IN (xxh3(concat({problem:String}, char(31))), xxh3(concat({bench:String}, char(31))))
    ) AS dtypes_of_runs,
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
    arrayMax(arrayPushBack(arrayMap(one -> transform(one, traits.3, traits.2, 0.), dtypes_of_runs.2), 0.)) AS main_roundoff,
    length(arrayDistinct(dtypes_of_runs.2)) > 1 AS dtypes_differ,
    (
        SELECT (
            minIf(unit, run_id = xxh3(concat({problem:String}, char(31)))),
            minIf(unit, run_id = xxh3(concat({bench:String}, char(31)))))
        FROM
        (
            SELECT
                run_id,
                multiIf(source = 'collector', 5.960464477539063e-8, source = 'sglang-dumper', 1.1102230246251565e-16, 1.) AS unit
            FROM tap_store.run
            WHERE run_id IN (xxh3(concat({problem:String}, char(31))), xxh3(concat({bench:String}, char(31))))
        )
    ) AS sum_units,
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
    compared AS (
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
            pair.problem_nan_count + pair.problem_positive_infinity_count + pair.problem_negative_infinity_count AS problem_not_finite_count,
            pair.bench_nan_count + pair.bench_positive_infinity_count + pair.bench_negative_infinity_count AS bench_not_finite_count,
            pair.problem_present AND pair.bench_present AS paired,
            paired AND pair.problem_layout_id != pair.bench_layout_id AND site.exception_sort NOT IN ('identifier') AND (pair.problem_layout_id, pair.bench_layout_id) NOT IN (
                SELECT
                    problem_layout_id,
                    bench_layout_id
                FROM tap.same_layouts(problem = {problem:String}, bench = {bench:String})
            ) AS structure,
            paired AND pair.problem_layout_id = pair.bench_layout_id AND pair.problem_layout_id IN (
                SELECT layout_id
                FROM tap.layouts
                WHERE kind NOT IN ('tensor', 'other') OR (kind = 'tensor' AND has(shape, 0))
            ) AS same_literal,
            greatest(
                transform(pair.problem_layout_id, traits.1, traits.2, 0.),
                transform(pair.bench_layout_id, traits.1, traits.2, 0.)) AS own_roundoff,
            greatest(
                least(transform(pair.problem_layout_id, traits.1, traits.2, 0.), if(sum_units.1 = 0, 1., sum_units.1)),
                least(transform(pair.bench_layout_id, traits.1, traits.2, 0.), if(sum_units.2 = 0, 1., sum_units.2))) AS sum_roundoff,
            -- A tensor of float32 that was computed from those of bfloat16 is no better than they are.
            if(own_roundoff = 0, 0., greatest(own_roundoff, main_roundoff)) AS roundoff,
            problem_not_finite_count > 0 OR NOT isFinite(pair.problem_min) OR NOT isFinite(pair.problem_max) OR NOT isFinite(pair.problem_mean) AS problem_not_finite,
            bench_not_finite_count > 0 OR NOT isFinite(pair.bench_min) OR NOT isFinite(pair.bench_max) OR NOT isFinite(pair.bench_mean) AS bench_not_finite,
            (pair.problem_nan_count, pair.problem_positive_infinity_count, pair.problem_negative_infinity_count)
                    = (pair.bench_nan_count, pair.bench_positive_infinity_count, pair.bench_negative_infinity_count)
                AND isNaN(pair.problem_min) = isNaN(pair.bench_min)
                AND isNaN(pair.problem_max) = isNaN(pair.bench_max)
                AND (isInfinite(pair.problem_min) OR isInfinite(pair.bench_min)) <= (pair.problem_min = pair.bench_min)
                AND (isInfinite(pair.problem_max) OR isInfinite(pair.bench_max)) <= (pair.problem_max = pair.bench_max) AS same_not_finite,
            multiIf(
                site.exception_sort != 'cast', site.exception_sort,
                dtypes_differ, 'cast',
                '') AS exception_sort,
            site.exception_sort IN ('negative_infinity')
                AND NOT pair.problem_nan_count + pair.bench_nan_count + pair.problem_positive_infinity_count + pair.bench_positive_infinity_count > 0
                AND NOT isNaN(pair.problem_min) AND pair.problem_max < inf AS is_mask,
            bitAnd(pair.problem_measured, pair.bench_measured) AS both_measured,
            -- Of merged ranks, what is no copy and no shard: there is a mean without a norm, if anything.
            paired AND bitAnd(bitOr(pair.problem_measured, pair.bench_measured), 983040) > 0 AS marked,
            if(bitTest(both_measured, 0) AND isFinite(pair.problem_min) AND isFinite(pair.bench_min), abs(pair.problem_min - pair.bench_min), 0.) AS delta_min,
            if(bitTest(both_measured, 1) AND isFinite(pair.problem_max) AND isFinite(pair.bench_max), abs(pair.problem_max - pair.bench_max), 0.) AS delta_max,
            if(bitTest(both_measured, 2) AND isFinite(pair.problem_mean) AND isFinite(pair.bench_mean), abs(pair.problem_mean - pair.bench_mean) * sqrt(pair.problem_element_count), 0.) AS delta_mean,
            multiIf(
                NOT bitTest(both_measured, 4) OR isNaN(pair.problem_l2) OR isNaN(pair.bench_l2), 0.,
                isFinite(pair.problem_l2) OR isFinite(pair.bench_l2), abs(pair.problem_l2 - pair.bench_l2),
                0.) AS delta_l2,
            -- What an infinite or unmeasured statistic says is left to not_finite; without a norm the greatest value is the scale.
            multiIf(
                (marked OR bitTest(both_measured, 4)) AND bitTest(pair.bench_measured, 4) AND isFinite(pair.bench_l2), pair.bench_l2,
                marked AND bitTest(pair.problem_measured, 4) AND isFinite(pair.problem_l2), pair.problem_l2,
                greatest(if(isFinite(pair.bench_min), abs(pair.bench_min), 0.), if(isFinite(pair.bench_max), abs(pair.bench_max), 0.))) AS scale,
            length(pair.problem_sketch) AS bucket_count,
            bucket_count > 0 AND bucket_count = length(pair.bench_sketch) AS both_sketched,
            if(both_sketched, sqrt(arraySum((x, y) -> (toFloat64(x) - y) * (toFloat64(x) - y), pair.problem_sketch, arrayResize(pair.bench_sketch, bucket_count))), 0.) AS sketch_distance,
            payload.found AND payload.relative_l2 IS NOT NULL AS has_payload,
            payload.same_bits AS payload_same,
            assumeNotNull(payload.relative_l2) AS payload_error,
            if(pair.problem_digest_kind = pair.bench_digest_kind, pair.problem_digest_kind, 0) AS digest_kind,
            pair.problem_digest = pair.bench_digest AS same_digest_bits,
            site.band_run_count AS band_run_count,
            site.band_mean AS band_mean,
            site.band_deviation AS band_deviation,
            site.tolerated_roundoffs AS tolerated_roundoffs,
            if(empty(site.rules), [], arrayFilter(rule -> transform(pair.bench_layout_id, traits.1, traits.3, '') LIKE rule.1, site.rules)) AS fitting_rules
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
    paired,
    marked,
    structure,
    same_literal,
    exception_sort,
    problem_not_finite,
    bench_not_finite,
    same_not_finite AND problem_not_finite AND bench_not_finite AS same_not_finite,
    is_mask,
    digest_kind,
    digest_kind > 0 AND same_digest_bits AS same_digest,
    digest_kind > 0 AND NOT same_digest_bits AS bits_differ,
    has_payload,
    payload_same,
    payload_error,
    bitAnd(both_measured, if(marked, 23, 19)) = 0 AS no_statistics,
    greatest(delta_min, delta_max, delta_mean, delta_l2) AS delta,
    multiIf(no_statistics, nan, delta = 0, 0., scale = 0, inf, delta / scale) AS statistics_error,
    multiIf(
        no_statistics, nan,
        delta = 0, 0.,
        scale = 0, inf,
        greatest(
            greatest(delta_min, delta_max) / scale,
            greatest(delta_mean, delta_l2) / scale - sum_roundoff * (1 + log2(1 + problem_element_count)))) AS statistics_low,
    both_sketched,
    multiIf(NOT both_sketched, nan, sketch_distance = 0, 0., scale = 0, inf, sketch_distance / scale) AS sketch_error,
    2 / (9 * bucket_count) AS chi_term,
    sketch_error / sqrt(pow(1 - chi_term + 1.96 * sqrt(chi_term), 3)) AS sketch_low,
    sketch_error / sqrt(pow(1 - chi_term - 1.96 * sqrt(chi_term), 3)) AS sketch_high,
    multiIf(
        NOT paired OR roundoff = 0, 0.,
        band_run_count >= 3, greatest(band_mean + 3 * band_deviation, if(ifNull(tolerated_roundoffs, 0) = 0, 4 * sqrt(32), assumeNotNull(tolerated_roundoffs)) * roundoff * if(roundoff < 1e-6, 4, 1)),
        notEmpty(fitting_rules), fitting_rules[1].2,
        {tolerance:Float64} >= 0, {tolerance:Float64},
        if(ifNull(tolerated_roundoffs, 0) = 0, 4 * sqrt(32), assumeNotNull(tolerated_roundoffs)) * roundoff * if(roundoff < 1e-6, 4, 1)) AS tolerated,
    if(band_run_count < 3, nan, (statistics_error - band_mean) / band_deviation) AS z_score
FROM compared
