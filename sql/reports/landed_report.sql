-- Question: of the steps that both runs have in part, where are the numbers not the very same, and how far is the order of what was observed?
-- Grain: one row per rank, step of the problem that has rows of both runs
-- Reads: tap_store.tensor, tap.superseded_steps, tap.rank_pairs
-- Empty when: no rank and step has rows of both runs yet
-- Parameter problem: name of the run under suspicion.
-- Parameter bench: name of the run it is held against.
-- Parameter first_step = 0: first step of the problem.
-- Parameter last_step = -1: last step of the problem; -1 for all.
-- Parameter step_offset = 0: what to add to a step of the problem for that of the bench.
-- It judges nothing and is quick: what is the same bit for bit needs no judgement. Rows go by their ids, which name the
-- same call only as long as both runs observed the same things in the same order: up to same_until.
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
    p AS (
        SELECT
            rank,
            step,
            micro_step,
            site_id,
            seq,
            cityHash64(
                layout_id, measured, reinterpretAsUInt64(value_min), reinterpretAsUInt64(value_max), reinterpretAsUInt64(value_mean), reinterpretAsUInt64(value_l2),
                nan_count, positive_infinity_count, negative_infinity_count, digest_kind, digest, toString(sketch)) AS content,
            row_number() OVER (PARTITION BY rank, step ORDER BY seq, site_id) AS place
        FROM tap_store.tensor
        WHERE run_id = xxh3(concat({problem:String}, char(31)))
            AND step >= {first_step:Int64}
            AND ({last_step:Int64} = -1 OR step <= {last_step:Int64})
            AND (empty(superseded) OR (run_id, rank, step, epoch) NOT IN (
                SELECT arrayJoin(superseded)
            ))
    ),
    b AS (
        SELECT
            rank,
            step,
            micro_step,
            site_id,
            cityHash64(
                layout_id, measured, reinterpretAsUInt64(value_min), reinterpretAsUInt64(value_max), reinterpretAsUInt64(value_mean), reinterpretAsUInt64(value_l2),
                nan_count, positive_infinity_count, negative_infinity_count, digest_kind, digest, toString(sketch)) AS content,
            row_number() OVER (PARTITION BY rank, step ORDER BY seq, site_id) AS place
        FROM tap_store.tensor
        WHERE run_id = xxh3(concat({bench:String}, char(31)))
            AND step - {step_offset:Int64} >= {first_step:Int64}
            AND ({last_step:Int64} = -1 OR step - {step_offset:Int64} <= {last_step:Int64})
            AND (empty(superseded) OR (run_id, rank, step, epoch) NOT IN (
                SELECT arrayJoin(superseded)
            ))
    )
SELECT
    rank,
    step,
    countIf(partner.found) AS paired_count,
    countIf(partner.found AND partner.content != p.content) AS different_count,
    minIf(p.seq, partner.found AND partner.content != p.content) AS first_different,
    if(countIf(NOT partner.found OR partner.place != p.place) = 0, 18446744073709551615, minIf(p.seq, NOT partner.found OR partner.place != p.place)) AS same_until
FROM p
LEFT ANY JOIN
(
    SELECT
        rank_pair.problem_rank AS pair_rank,
        toUInt32(b.step - {step_offset:Int64}) AS pair_step,
        b.micro_step AS micro_step,
        b.site_id AS site_id,
        b.content AS content,
        b.place AS place,
        true AS found
    FROM b
    INNER JOIN
    (
        SELECT
            arrayJoin(rank_pairs) AS listed,
            listed.1 AS problem_rank,
            listed.2 AS bench_rank
    ) AS rank_pair ON rank_pair.bench_rank = b.rank
) AS partner ON partner.pair_rank = p.rank AND partner.pair_step = p.step AND partner.micro_step = p.micro_step AND partner.site_id = p.site_id
GROUP BY
    rank,
    step
HAVING paired_count > 0
ORDER BY
    step,
    rank
