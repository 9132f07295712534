-- Question: what would each tensor look like if the ranks of a tensor-parallel group were one?
-- Grain: one row per group of ranks, step, micro step, site of the run whose ranks are merged
-- Reads: tap.pairs, tap.shard_groups, tap.layouts, tap.superseded_steps, tap_store.tensor
-- Empty when: the run has no tensors at these steps
-- Parameter problem: name of the run under suspicion.
-- Parameter bench: name of the run it is held against.
-- Parameter side = problem: whose ranks are merged; or bench.
-- Parameter problem_whole_world = 0: 1 to take all ranks of the problem for one group where their coordinates are not known.
-- Parameter bench_whole_world = 0: likewise of the bench.
-- Parameter first_step = 0: first step of the problem.
-- Parameter last_step = -1: last step of the problem; -1 for all.
-- Parameter step_offset = 0: what to add to a step of the problem for that of the bench.
-- How the parts make a whole is told by the partner in the other run. Shards: along one dimension the parts of both runs
-- add up to the same size, and the other dimensions are the same. Their statistics merge exactly (means and m2 by Chan,
-- Golub and LeVeque's rule); digests do not, nor do sketches, which are taken by indices within the part. Copies: all
-- numbers are the same on all ranks. Sums: the shape of the partner on all ranks and other numbers on each, as before an
-- all-reduce; only means, sketches and what is not finite add up, and a mean counts only where it is far from each
-- rank's own in float32 or better, as copies that differ by a fault would else pass for parts. Arguments: numbers that
-- follow from the size of the group, such as how many heads a rank has, and groups. Pieces: all others. Pending: what the ranks were still adding up when it was
-- given. The last four are marked in measured, from bit 16 on. A digest is left out where the partner has another: sums
-- are taken in other orders, so other bits are no fault.
WITH
    (
        SELECT groupArray((of_problem, rank, leader, group_size))
        FROM
        (
            SELECT
                true AS of_problem,
                rank,
                leader,
                group_size
            FROM tap.shard_groups(run = {problem:String}, whole_world = {problem_whole_world:UInt8})
            UNION ALL
            SELECT
                false AS of_problem,
                rank,
                leader,
                group_size
            FROM tap.shard_groups(run = {bench:String}, whole_world = {bench_whole_world:UInt8})
        )
    ) AS all_groups,
    {side:String} = 'problem' AS merges_problem,
    arrayFilter(one -> one.1 = merges_problem, all_groups) AS own_groups,
    arrayMax(arrayPushBack(arrayMap(one -> one.4, arrayFilter(one -> one.1 != merges_problem, all_groups)), 1)) AS other_size,
    if(merges_problem, 0, {step_offset:Int64}) AS own_offset,
    partners AS (
        SELECT
            if(merges_problem, pair.rank, pair.bench_rank) AS leader,
            toInt64(pair.step) + own_offset AS own_step,
            pair.micro_step AS micro_step,
            if(merges_problem, pair.site_id, pair.bench_site_id) AS own_site_id,
            any(if(merges_problem, pair.bench_layout_id, pair.problem_layout_id)) AS other_layout_id,
            any(if(merges_problem, pair.bench_digest, pair.problem_digest)) AS other_digest,
            true AS found
        FROM tap.pairs(problem = {problem:String}, bench = {bench:String}, rank = -1, first_step = {first_step:Int64}, last_step = {last_step:Int64}, step_offset = {step_offset:Int64}) AS pair
        WHERE pair.problem_present AND pair.bench_present
        GROUP BY
            leader,
            own_step,
            micro_step,
            own_site_id
    ),
    parts AS (
        SELECT
            transform(part.rank, arrayMap(one -> one.2, own_groups), arrayMap(one -> one.3, own_groups), toUInt32(0)) AS leader,
            transform(part.rank, arrayMap(one -> one.2, own_groups), arrayMap(one -> one.4, own_groups), toUInt32(0)) AS group_size,
            part.rank AS rank,
            part.step AS step,
            part.micro_step AS micro_step,
            part.site_id AS site_id,
            part.seq AS seq,
            part.layout_id AS layout_id,
            part.measured AS measured,
            part.element_count AS element_count,
            part.value_min AS value_min,
            part.value_max AS value_max,
            part.value_mean AS value_mean,
            part.value_m2 AS value_m2,
            part.value_l2 AS value_l2,
            part.value_l1 AS value_l1,
            part.nan_count AS nan_count,
            part.positive_infinity_count AS positive_infinity_count,
            part.negative_infinity_count AS negative_infinity_count,
            part.zero_count AS zero_count,
            part.subnormal_count AS subnormal_count,
            part.digest AS digest,
            part.digest_kind AS digest_kind,
            part.sketch AS sketch,
            layout.kind AS kind,
            layout.dtype AS dtype,
            layout.shape AS shape,
            layout.literal AS literal,
            -- Statistics are of the finite elements.
            toFloat64(part.element_count) - part.nan_count - part.positive_infinity_count - part.negative_infinity_count AS weight
        FROM tap_store.tensor AS part
        LEFT ANY JOIN tap.layouts AS layout ON layout.layout_id = part.layout_id
        WHERE part.run_id = xxh3(concat(if(merges_problem, {problem:String}, {bench:String}), char(31)))
            -- Not those of a rank that died in its first step, of which no group is known.
            AND has(arrayMap(one -> one.2, own_groups), part.rank)
            AND part.step >= {first_step:Int64} + own_offset
            AND ({last_step:Int64} = -1 OR part.step <= {last_step:Int64} + own_offset)
            AND (part.run_id, part.rank, part.step, part.epoch) NOT IN (
                SELECT
                    run_id,
                    rank,
                    step,
                    epoch
                FROM tap.superseded_steps
            )
    ),
    gathered AS (
        SELECT
            leader,
            step,
            micro_step,
            site_id,
            any(parts.group_size) AS member_count,
            count() AS part_count,
            argMin(parts.seq, rank) AS first_seq,
            argMin(parts.layout_id, rank) AS own_layout_id,
            any(parts.kind) AS own_kind,
            argMin(parts.literal, rank) AS own_literal,
            uniqExact(parts.layout_id, parts.measured, parts.element_count, parts.value_min, parts.value_max, parts.value_mean, parts.value_l2, parts.value_l1, parts.nan_count, parts.positive_infinity_count, parts.negative_infinity_count, parts.zero_count, parts.digest, parts.digest_kind, parts.sketch) = 1 AS all_same,
            uniqExact(length(parts.shape)) = 1 AS same_rank,
            uniqExact(parts.dtype) = 1 AND match(any(parts.dtype), '(?i)float32|float64|double') AS is_precise,
            sumForEach(parts.shape) AS sum_shape,
            minForEach(parts.shape) AS least_shape,
            maxForEach(parts.shape) AS greatest_shape,
            groupBitAnd(parts.measured) AS all_measured,
            sum(parts.element_count) AS sum_elements,
            argMin(parts.element_count, rank) AS first_elements,
            if(countIf(isNaN(parts.value_min)) > 0, nan, minIf(parts.value_min, parts.element_count > 0)) AS least_value,
            if(countIf(isNaN(parts.value_max)) > 0, nan, maxIf(parts.value_max, parts.element_count > 0)) AS greatest_value,
            argMin(parts.value_mean, rank) AS first_mean,
            sum(parts.value_mean) AS sum_mean,
            sumIf(parts.weight * parts.value_mean, parts.weight > 0) / sumIf(parts.weight, parts.weight > 0) AS whole_mean,
            sumIf(parts.value_m2, parts.weight > 0) AS sum_m2,
            groupArrayIf((parts.weight, parts.value_mean), parts.weight > 0) AS means,
            groupArray(parts.value_mean) AS own_means,
            argMin(parts.value_m2, rank) AS first_m2,
            argMin(parts.value_l2, rank) AS first_l2,
            max(parts.value_l2) AS greatest_l2,
            sqrt(sum(parts.value_l2 * parts.value_l2)) AS whole_l2,
            argMin(parts.value_l1, rank) AS first_l1,
            sum(parts.value_l1) AS sum_l1,
            argMin(parts.nan_count, rank) AS first_nan,
            sum(parts.nan_count) AS sum_nan,
            argMin(parts.positive_infinity_count, rank) AS first_positive_infinity,
            sum(parts.positive_infinity_count) AS sum_positive_infinity,
            argMin(parts.negative_infinity_count, rank) AS first_negative_infinity,
            sum(parts.negative_infinity_count) AS sum_negative_infinity,
            argMin(parts.zero_count, rank) AS first_zero,
            sum(parts.zero_count) AS sum_zero,
            argMin(parts.subnormal_count, rank) AS first_subnormal,
            sum(parts.subnormal_count) AS sum_subnormal,
            argMin(parts.digest, rank) AS first_digest,
            argMin(parts.digest_kind, rank) AS first_digest_kind,
            argMin(parts.sketch, rank) AS first_sketch,
            uniqExact(length(parts.sketch)) = 1 AS all_sketched,
            sumForEach(parts.sketch) AS sum_sketch
        FROM parts
        GROUP BY
            leader,
            step,
            micro_step,
            site_id
    ),
    sorted AS (
        SELECT
            gathered.leader AS leader,
            gathered.step AS step,
            gathered.micro_step AS micro_step,
            site_id,
            member_count,
            part_count,
            first_seq,
            own_layout_id,
            all_same,
            is_precise,
            sum_shape,
            all_measured,
            sum_elements,
            first_elements,
            least_value,
            greatest_value,
            first_mean,
            sum_mean,
            whole_mean,
            sum_m2,
            means,
            own_means,
            first_m2,
            first_l2,
            greatest_l2,
            whole_l2,
            first_l1,
            sum_l1,
            first_nan,
            sum_nan,
            first_positive_infinity,
            sum_positive_infinity,
            first_negative_infinity,
            sum_negative_infinity,
            first_zero,
            sum_zero,
            first_subnormal,
            sum_subnormal,
            first_digest,
            first_digest_kind,
            first_digest = partner.other_digest AS same_bits,
            first_sketch,
            all_sketched,
            sum_sketch,
            arrayMap((own, other) -> own = other * other_size, sum_shape, arrayResize(whole.shape, length(sum_shape))) AS dimension_adds_up,
            arrayMap((own, other) -> own = other, arrayMap((least, greatest) -> if(least = greatest, least, -1), least_shape, greatest_shape), arrayResize(whole.shape, length(sum_shape))) AS dimension_same,
            own_kind = 'tensor' AND whole.kind = 'tensor' AND same_rank AND length(whole.shape) = length(sum_shape) AS comparable,
            -- A dimension of 1, which each part has, adds up to nothing.
            arrayCount((adds, same) -> adds AND NOT same, dimension_adds_up, dimension_same) AS split_count,
            arrayCount((adds, same) -> NOT (adds OR same), dimension_adds_up, dimension_same) AS odd_count,
            arrayMap(text -> toInt64OrZero(text), extractAll(own_literal, '-?[0-9]+')) AS own_numbers,
            arrayMap(text -> toInt64OrZero(text), extractAll(whole.literal, '-?[0-9]+')) AS other_numbers,
            multiIf(
                own_kind != 'tensor', multiIf(
                    own_kind = 'group' OR NOT all_same, 'argument',
                    NOT partner.found OR whole.layout_id = own_layout_id OR whole.kind != own_kind OR own_kind NOT IN ('int', 'size'), 'copies',
                    length(own_numbers) = length(other_numbers) AND arrayAll((own, other) -> own = other OR own * member_count = other * other_size, own_numbers, other_numbers), 'argument',
                    'copies'),
                own_literal = 'AsyncCollectiveTensor', 'pending',
                partner.found AND comparable AND part_count = member_count AND split_count = 1 AND odd_count = 0, 'shards',
                all_same AND (part_count = member_count OR NOT partner.found OR arrayAll(same -> same, dimension_same)), 'copies',
                (partner.found AND comparable AND arrayAll(same -> same, dimension_same)) OR NOT partner.found, 'sums',
                'pieces') AS sort
        FROM gathered
        LEFT ANY JOIN partners AS partner ON partner.leader = gathered.leader AND partner.own_step = gathered.step AND partner.micro_step = gathered.micro_step AND partner.own_site_id = gathered.site_id
        LEFT ANY JOIN tap.layouts AS whole ON whole.layout_id = partner.other_layout_id
    )
SELECT
    leader AS rank,
    step,
    micro_step,
    site_id,
    first_seq AS seq,
    own_layout_id AS layout_id,
    sort,
    part_count,
    member_count,
    if(sort = 'shards', arrayMap((adds, same, own) -> if(adds AND NOT same, own, intDiv(own, member_count)), dimension_adds_up, dimension_same, sum_shape), []) AS whole_shape,
    multiIf(
        sort IN ('shards', 'copies'), all_measured,
        sort = 'sums', bitOr(bitAnd(all_measured, if(mean_counts, 452, 448)), 65536),
        sort = 'argument', 131072,
        sort = 'pieces', bitOr(bitAnd(all_measured, 448), 262144),
        524288) AS measured,
    if(sort = 'shards', sum_elements, first_elements) AS element_count,
    if(bitTest(measured, 0), least_value, 0.) AS value_min,
    if(bitTest(measured, 1), greatest_value, 0.) AS value_max,
    multiIf(NOT bitTest(measured, 2), 0., sort = 'shards', whole_mean, sort = 'sums', sum_mean, first_mean) AS value_mean,
    multiIf(NOT bitTest(measured, 3), 0., sort = 'shards', sum_m2 + arraySum(one -> one.1 * pow(one.2 - whole_mean, 2), means), first_m2) AS value_m2,
    multiIf(NOT bitTest(measured, 4), 0., sort = 'shards', whole_l2, first_l2) AS value_l2,
    multiIf(NOT bitTest(measured, 5), 0., sort = 'shards', sum_l1, first_l1) AS value_l1,
    if(sort = 'copies', first_nan, sum_nan) AS nan_count,
    if(sort = 'copies', first_positive_infinity, sum_positive_infinity) AS positive_infinity_count,
    if(sort = 'copies', first_negative_infinity, sum_negative_infinity) AS negative_infinity_count,
    multiIf(sort = 'copies', first_zero, sort = 'shards', sum_zero, 0) AS zero_count,
    multiIf(sort = 'copies', first_subnormal, sort = 'shards', sum_subnormal, 0) AS subnormal_count,
    if(sort = 'copies' AND same_bits, first_digest, 0) AS digest,
    if(sort = 'copies' AND same_bits, first_digest_kind, 0) AS digest_kind,
    multiIf(sort = 'copies', first_sketch, sort = 'sums' AND all_sketched AND part_count = member_count, arrayMap(bucket -> toFloat32(bucket), sum_sketch), []) AS sketch,
    part_count = member_count AND is_precise AND bitAnd(all_measured, 20) = 20
        AND arrayAll(own -> abs(sum_mean - own) * sqrt(first_elements) > 0.001 * greatest_l2, own_means) AS mean_counts
FROM sorted
