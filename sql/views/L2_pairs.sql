-- Question: which tensor of the problem run stands beside which tensor of the bench run?
-- Grain: one row per rank, step, micro step, site of either run; a missing partner is 0 and present says so
-- Reads: tap.observations, tap.rank_pairs, tap.steps, tap.alignments, tap.sites
-- Empty when: neither run has tensors at that rank and step
-- Parameter problem: name of the run under suspicion.
-- Parameter bench: name of the run it is held against.
-- Parameter rank = -1: only this rank of the problem; -1 for all.
-- Parameter first_step = 0: first step of the problem.
-- Parameter last_step = -1: last step of the problem; -1 for all.
-- Parameter step_offset = 0: what to add to a step of the problem for that of the bench.
-- Rows pair by site, rank and step. Where programs, ranks or steps differ, the bench's rows are first given the names of
-- their partners: an op that was aligned with another takes that one's sites, one that stands alone takes sites that
-- nobody has. The join key is 128 bits wide, which is fast: a micro step, nearly always 0, is mixed into the site.
WITH
    (
        SELECT {step_offset:Int64} != 0 OR countIf(problem_rank != bench_rank) > 0
        FROM tap.rank_pairs(problem = {problem:String}, bench = {bench:String})
    ) AS places_differ,
    program_pairs AS (
        SELECT
            rank_pair.problem_rank AS rank,
            p.step AS step,
            p.program_id AS problem_program_id,
            b.program_id AS bench_program_id
        FROM tap.rank_pairs(problem = {problem:String}, bench = {bench:String}) AS rank_pair
        INNER JOIN tap.steps AS p ON p.rank = rank_pair.problem_rank
        INNER JOIN tap.steps AS b ON b.rank = rank_pair.bench_rank
        WHERE p.run_id = xxh3(concat({problem:String}, char(31)))
            AND b.run_id = xxh3(concat({bench:String}, char(31)))
            AND b.step = p.step + {step_offset:Int64}
            AND b.program_id != p.program_id
    ),
    (
        SELECT places_differ OR count() > 0
        FROM program_pairs
    ) AS renamed,
    -- Only ops whose partner has another name, or who have none.
    moved AS (
        SELECT
            alignment.problem_program_id AS problem_program_id,
            alignment.bench_program_id AS bench_program_id,
            site.site_id AS site_id,
            if(alignment.problem_op_id = 0,
                intHash64(site.site_id),
                xxh3(concat(leftPad(lower(hex(alignment.problem_op_id)), 16, '0'), char(31), site.role, char(31), site.path, char(31)))) AS pair_site_id
        FROM tap.alignments AS alignment
        INNER JOIN tap.sites AS site ON site.op_id = alignment.bench_op_id
        WHERE alignment.bench_op_id != 0
            AND alignment.bench_op_id != alignment.problem_op_id
            AND (alignment.problem_program_id, alignment.bench_program_id) IN (
                SELECT
                    problem_program_id,
                    bench_program_id
                FROM program_pairs
            )
    )
SELECT
    pair_rank AS rank,
    b.rank AS bench_rank,
    pair_step AS step,
    if(p.present, p.micro_step, b.micro_step) AS micro_step,
    if(p.present, p.seq, b.seq) AS seq,
    if(p.present, p.site_id, b.site_id) AS site_id,
    b.site_id AS bench_site_id,
    p.present AS problem_present,
    b.present AS bench_present,
    p.layout_id AS problem_layout_id,
    b.layout_id AS bench_layout_id,
    p.measured AS problem_measured,
    b.measured AS bench_measured,
    p.element_count AS problem_element_count,
    b.element_count AS bench_element_count,
    p.value_min AS problem_min,
    b.value_min AS bench_min,
    p.value_max AS problem_max,
    b.value_max AS bench_max,
    p.value_mean AS problem_mean,
    b.value_mean AS bench_mean,
    p.value_l2 AS problem_l2,
    b.value_l2 AS bench_l2,
    p.nan_count AS problem_nan_count,
    b.nan_count AS bench_nan_count,
    p.positive_infinity_count AS problem_positive_infinity_count,
    b.positive_infinity_count AS bench_positive_infinity_count,
    p.negative_infinity_count AS problem_negative_infinity_count,
    b.negative_infinity_count AS bench_negative_infinity_count,
    p.digest AS problem_digest,
    b.digest AS bench_digest,
    p.digest_kind AS problem_digest_kind,
    b.digest_kind AS bench_digest_kind,
    p.sketch AS problem_sketch,
    b.sketch AS bench_sketch
FROM
(
    SELECT
        rank AS pair_rank,
        step AS pair_step,
        rank,
        micro_step,
        site_id,
        site_id + micro_step * toUInt64(11400714819323198485) AS pair_key,
        seq,
        layout_id,
        measured,
        element_count,
        value_min,
        value_max,
        value_mean,
        value_l2,
        nan_count,
        positive_infinity_count,
        negative_infinity_count,
        digest,
        digest_kind,
        sketch,
        true AS present
    FROM tap.observations(run = {problem:String}, rank = {rank:Int64}, first_step = {first_step:Int64}, last_step = {last_step:Int64})
) AS p
FULL JOIN
(
    SELECT
        rank AS pair_rank,
        step AS pair_step,
        rank,
        micro_step,
        site_id,
        site_id + micro_step * toUInt64(11400714819323198485) AS pair_key,
        seq,
        layout_id,
        measured,
        element_count,
        value_min,
        value_max,
        value_mean,
        value_l2,
        nan_count,
        positive_infinity_count,
        negative_infinity_count,
        digest,
        digest_kind,
        sketch,
        true AS present
    FROM tap.observations(run = {bench:String}, rank = {rank:Int64}, first_step = {first_step:Int64}, last_step = {last_step:Int64})
    WHERE NOT renamed
    UNION ALL
    SELECT
        if(partner.found, partner.problem_rank, toUInt32(4294967295 - o.rank)) AS pair_rank,
        toUInt32(o.step - {step_offset:Int64}) AS pair_step,
        o.rank AS rank,
        o.micro_step AS micro_step,
        o.site_id AS site_id,
        if(moved.pair_site_id = 0, o.site_id, moved.pair_site_id) + o.micro_step * toUInt64(11400714819323198485) AS pair_key,
        o.seq AS seq,
        o.layout_id AS layout_id,
        o.measured AS measured,
        o.element_count AS element_count,
        o.value_min AS value_min,
        o.value_max AS value_max,
        o.value_mean AS value_mean,
        o.value_l2 AS value_l2,
        o.nan_count AS nan_count,
        o.positive_infinity_count AS positive_infinity_count,
        o.negative_infinity_count AS negative_infinity_count,
        o.digest AS digest,
        o.digest_kind AS digest_kind,
        o.sketch AS sketch,
        true AS present
    FROM tap.observations(run = {bench:String}, rank = -1, first_step = 0, last_step = -1) AS o
    LEFT JOIN
    (
        SELECT
            problem_rank,
            bench_rank,
            true AS found
        FROM tap.rank_pairs(problem = {problem:String}, bench = {bench:String})
    ) AS partner ON partner.bench_rank = o.rank
    LEFT ANY JOIN program_pairs ON program_pairs.rank = partner.problem_rank AND program_pairs.step = o.step - {step_offset:Int64}
    LEFT ANY JOIN moved ON moved.problem_program_id = program_pairs.problem_program_id
        AND moved.bench_program_id = program_pairs.bench_program_id
        AND moved.site_id = o.site_id
    WHERE renamed
        AND ({rank:Int64} = -1 OR pair_rank = {rank:Int64})
        AND o.step - {step_offset:Int64} >= {first_step:Int64}
        AND ({last_step:Int64} = -1 OR o.step - {step_offset:Int64} <= {last_step:Int64})
) AS b USING (pair_key, pair_rank, pair_step)
