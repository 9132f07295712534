-- Question: which tensor of the problem run stands beside which tensor of the bench run?
-- Grain: one row per rank, step, micro step, site of either run; a missing partner is 0 and present says so
-- Reads: tap.observations
-- Empty when: neither run has tensors at that rank and step
-- Parameter problem: name of the run under suspicion.
-- Parameter bench: name of the run it is held against.
-- Parameter rank = -1: only this rank; -1 for all.
-- Parameter step = -1: only this step; -1 for all.
-- The join key is 128 bits wide, which is fast: a micro step, nearly always 0, is mixed into the site.
SELECT
    rank,
    step,
    if(p.present, p.micro_step, b.micro_step) AS micro_step,
    site_key + if(p.present, p.micro_step, b.micro_step) * toUInt64(7046029254386353131) AS site_id,
    p.present AS problem_present,
    b.present AS bench_present,
    if(p.present, p.seq, b.seq) AS seq,
    p.layout_id AS problem_layout_id,
    b.layout_id AS bench_layout_id,
    p.measured AS problem_measured,
    b.measured AS bench_measured,
    p.value_min AS problem_min,
    b.value_min AS bench_min,
    p.value_max AS problem_max,
    b.value_max AS bench_max,
    p.value_mean AS problem_mean,
    b.value_mean AS bench_mean,
    p.value_l2 AS problem_l2,
    b.value_l2 AS bench_l2,
    p.not_finite_count AS problem_not_finite_count,
    b.not_finite_count AS bench_not_finite_count,
    p.digest AS problem_digest,
    b.digest AS bench_digest,
    p.digest_kind AS problem_digest_kind,
    b.digest_kind AS bench_digest_kind
FROM
(
    SELECT
        rank,
        step,
        micro_step,
        site_id + micro_step * toUInt64(11400714819323198485) AS site_key,
        seq,
        layout_id,
        measured,
        value_min,
        value_max,
        value_mean,
        value_l2,
        nan_count + positive_infinity_count + negative_infinity_count AS not_finite_count,
        digest,
        digest_kind,
        true AS present
    FROM tap.observations(run = {problem:String}, rank = {rank:Int64}, step = {step:Int64})
) AS p
FULL JOIN
(
    SELECT
        rank,
        step,
        micro_step,
        site_id + micro_step * toUInt64(11400714819323198485) AS site_key,
        seq,
        layout_id,
        measured,
        value_min,
        value_max,
        value_mean,
        value_l2,
        nan_count + positive_infinity_count + negative_infinity_count AS not_finite_count,
        digest,
        digest_kind,
        true AS present
    FROM tap.observations(run = {bench:String}, rank = {rank:Int64}, step = {step:Int64})
) AS b USING (site_key, rank, step)
