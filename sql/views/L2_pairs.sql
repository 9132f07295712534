-- Question: which tensor of the problem run stands beside which tensor of the bench run?
-- Grain: one row per rank, step, micro step, site of either run; a missing partner is 0 and present says so
-- Reads: tap.rank_pairs, tap.served_moves, tap.steps, tap.alignments, tap.sites, tap.superseded_steps, tap_store.tensor
-- Empty when: neither run has tensors at that rank and step
-- Parameter problem: name of the run under suspicion.
-- Parameter bench: name of the run it is held against.
-- Parameter rank = -1: only this rank of the problem; -1 for all.
-- Parameter first_step = 0: first step of the problem.
-- Parameter last_step = -1: last step of the problem; -1 for all.
-- Parameter step_offset = 0: what to add to a step of the problem for that of the bench.
-- Rows pair by site, rank and step. Steps pair by number, but those of inference engines by the prompts and positions
-- that they serve, where that is another pairing; a step of the bench that has no partner then has number 4294967295 less
-- its own. Where programs, ranks or steps differ, the bench's rows are first given the names of
-- their partners: an op that was aligned with another takes that one's sites, one that stands alone takes sites that
-- nobody has. The join key is 128 bits wide, which is fast: a micro step, nearly always 0, is mixed into the site.
-- Where both runs have the very same tensors of a rank and step, which is the rule, both are read in the order that they
-- are stored in and put side by side row by row, for a third of a join's price.
WITH
    (
        SELECT groupArray((run_id, rank, step, epoch))
        FROM tap.superseded_steps
        WHERE run_id IN (xxh3(concat({problem:String}, char(31))), xxh3(concat({bench:String}, char(31))))
    ) AS superseded,
    (
        SELECT groupArray((problem_rank, bench_rank))
        FROM tap.rank_pairs(problem = {problem:String}, bench = {bench:String})
    ) AS rank_pairs,
    (
        SELECT groupArray((rank, step, bench_step))
        FROM tap.served_moves(problem = {problem:String}, bench = {bench:String})
        WHERE {step_offset:Int64} = 0
    ) AS moves,
    arrayMap(move -> bitShiftLeft(toUInt64(move.1), 32) + move.2, moves) AS problem_places,
    arrayMap(move -> toInt64(move.3), moves) AS bench_steps,
    arrayMap(move -> bitShiftLeft(toUInt64(move.1), 32) + move.3, moves) AS bench_places,
    arrayMap(move -> toInt64(move.2), moves) AS problem_steps,
    -- Where the programs differ: rank and step of the problem, its program, the bench's program.
    (
        SELECT groupArray((partner.1, p.step, p.program_id, b.program_id))
        FROM
        (
            SELECT arrayJoin(rank_pairs) AS partner
        ) AS listed
        INNER JOIN tap.steps AS p ON p.rank = partner.1
        INNER JOIN tap.steps AS b ON b.rank = partner.2
        WHERE p.run_id = xxh3(concat({problem:String}, char(31)))
            AND b.run_id = xxh3(concat({bench:String}, char(31)))
            AND b.step = if(empty(moves), p.step + {step_offset:Int64}, transform(bitShiftLeft(toUInt64(p.rank), 32) + p.step, problem_places, bench_steps, toInt64(-1)))
            AND b.program_id != p.program_id
    ) AS program_pairs,
    {step_offset:Int64} != 0 OR notEmpty(moves) OR notEmpty(program_pairs) OR arrayExists(partner -> partner.1 != partner.2, rank_pairs) AS renamed,
    -- Ranks and steps with the same tensors in both runs, and how many there are besides.
    (
        SELECT (groupArrayIf((rank, step), same), countIf(NOT same))
        FROM
        (
            SELECT
                rank,
                step,
                sum(sign) = 0 AND sum(sign * reinterpretAsInt64(intHash64(site_id))) = 0 AND max(micro_step) = 0 AS same
            FROM
            (
                SELECT
                    rank,
                    step,
                    micro_step,
                    site_id,
                    if(run_id = xxh3(concat({problem:String}, char(31))), 1, -1) AS sign
                FROM tap_store.tensor
                WHERE run_id IN (xxh3(concat({problem:String}, char(31))), xxh3(concat({bench:String}, char(31))))
                    AND ({rank:Int64} = -1 OR rank = {rank:Int64})
                    AND step >= {first_step:Int64}
                    AND ({last_step:Int64} = -1 OR step <= {last_step:Int64})
            )
            GROUP BY
                rank,
                step
        )
    ) AS places,
    NOT renamed AND empty(superseded) AND notEmpty(places.1) AS has_same_places,
    NOT has_same_places OR places.2 > 0 AS has_other_places,
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
                    different.3,
                    different.4
                FROM
                (
                    SELECT arrayJoin(program_pairs) AS different
                )
            )
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
    problem_nan_count,
    bench_nan_count,
    problem_positive_infinity_count,
    bench_positive_infinity_count,
    problem_negative_infinity_count,
    bench_negative_infinity_count,
    problem_digest,
    bench_digest,
    problem_digest_kind,
    bench_digest_kind,
    problem_sketch,
    bench_sketch
FROM
(
    SELECT
        p.rank AS rank,
        b.rank AS bench_rank,
        p.step AS step,
        p.micro_step AS micro_step,
        p.seq AS seq,
        p.site_id AS site_id,
        b.site_id AS bench_site_id,
        true AS problem_present,
        true AS bench_present,
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
            rank,
            step,
            micro_step,
            site_id,
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
            sketch
        FROM tap_store.tensor
        WHERE run_id = xxh3(concat({problem:String}, char(31)))
            AND ({rank:Int64} = -1 OR rank = {rank:Int64})
            AND step >= {first_step:Int64}
            AND ({last_step:Int64} = -1 OR step <= {last_step:Int64})
            AND (empty(superseded) OR (run_id, rank, step, epoch) NOT IN (
                SELECT arrayJoin(superseded)
            ))
            AND has_same_places AND (NOT has_other_places OR (rank, step) IN (
            SELECT arrayJoin(places.1)
        ))
        ORDER BY
            site_id,
            rank,
            step
        LIMIT 9223372036854775807
    ) AS p
    PASTE JOIN
    (
        SELECT
            rank,
            step,
            micro_step,
            site_id,
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
            sketch
        FROM tap_store.tensor
        WHERE run_id = xxh3(concat({bench:String}, char(31)))
            AND ({rank:Int64} = -1 OR rank = {rank:Int64})
            AND step >= {first_step:Int64}
            AND ({last_step:Int64} = -1 OR step <= {last_step:Int64})
            AND (empty(superseded) OR (run_id, rank, step, epoch) NOT IN (
                SELECT arrayJoin(superseded)
            ))
            AND has_same_places AND (NOT has_other_places OR (rank, step) IN (
            SELECT arrayJoin(places.1)
        ))
        ORDER BY
            site_id,
            rank,
            step
        LIMIT 9223372036854775807
    ) AS b
    -- Neither order nor keys can differ; were it otherwise, numbers of different tensors would be compared.
    WHERE NOT throwIf(p.site_id != b.site_id OR p.rank != b.rank OR p.step != b.step, 'pairs: the rows of both runs stand in different orders')
    UNION ALL
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
        FROM tap_store.tensor
        WHERE run_id = xxh3(concat({problem:String}, char(31)))
            AND ({rank:Int64} = -1 OR rank = {rank:Int64})
            AND step >= {first_step:Int64}
            AND ({last_step:Int64} = -1 OR step <= {last_step:Int64})
            AND (empty(superseded) OR (run_id, rank, step, epoch) NOT IN (
                SELECT arrayJoin(superseded)
            ))
            AND has_other_places AND (NOT has_same_places OR (rank, step) NOT IN (
            SELECT arrayJoin(places.1)
        ))
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
        FROM tap_store.tensor
        WHERE run_id = xxh3(concat({bench:String}, char(31)))
            AND ({rank:Int64} = -1 OR rank = {rank:Int64})
            AND step >= {first_step:Int64}
            AND ({last_step:Int64} = -1 OR step <= {last_step:Int64})
            AND (empty(superseded) OR (run_id, rank, step, epoch) NOT IN (
                SELECT arrayJoin(superseded)
            ))
            AND NOT renamed AND has_other_places AND (NOT has_same_places OR (rank, step) NOT IN (
            SELECT arrayJoin(places.1)
        ))
        UNION ALL
        SELECT
            if(partner.found, partner.problem_rank, toUInt32(4294967295 - o.rank)) AS pair_rank,
            toUInt32(if(empty(moves), o.step - {step_offset:Int64}, transform(bitShiftLeft(toUInt64(partner.problem_rank), 32) + o.step, bench_places, problem_steps, toInt64(4294967295 - o.step)))) AS pair_step,
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
        FROM tap_store.tensor AS o
        LEFT JOIN
        (
            SELECT
                arrayJoin(rank_pairs) AS listed,
                listed.1 AS problem_rank,
                listed.2 AS bench_rank,
                true AS found
        ) AS partner ON partner.bench_rank = o.rank
        LEFT ANY JOIN
        (
            SELECT
                arrayJoin(program_pairs) AS different,
                different.1 AS rank,
                different.2 AS step,
                different.3 AS problem_program_id,
                different.4 AS bench_program_id
        ) AS program_pair ON program_pair.rank = partner.problem_rank AND program_pair.step = pair_step
        LEFT ANY JOIN moved ON moved.problem_program_id = program_pair.problem_program_id
            AND moved.bench_program_id = program_pair.bench_program_id
            AND moved.site_id = o.site_id
        WHERE renamed
            AND o.run_id = xxh3(concat({bench:String}, char(31)))
            AND (empty(superseded) OR (o.run_id, o.rank, o.step, o.epoch) NOT IN (
                SELECT arrayJoin(superseded)
            ))
            AND ({rank:Int64} = -1 OR pair_rank = {rank:Int64})
            AND if(empty(moves), o.step - {step_offset:Int64}, toInt64(pair_step)) >= {first_step:Int64}
            AND ({last_step:Int64} = -1 OR if(empty(moves), o.step - {step_offset:Int64}, toInt64(pair_step)) <= {last_step:Int64})
    ) AS b USING (pair_key, pair_rank, pair_step)
)
