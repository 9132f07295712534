-- Question: which numbers did one run record, fit to be joined?
-- Grain: one row per rank, step, micro step, site; replaced observations are hidden
-- Reads: tap_store.tensor, tap.superseded_steps
-- Empty when: the run has no tensors at that rank and step
-- Parameter run: name of the run.
-- Parameter rank = -1: only this rank; -1 for all.
-- Parameter first_step = 0: first step.
-- Parameter last_step = -1: last step; -1 for all.
WITH
    xxh3(concat({run:String}, char(31))) AS wanted_run_id
SELECT
    rank,
    step,
    micro_step,
    seq,
    site_id,
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
WHERE run_id = wanted_run_id
    AND ({rank:Int64} = -1 OR rank = {rank:Int64})
    AND step >= {first_step:Int64}
    AND ({last_step:Int64} = -1 OR step <= {last_step:Int64})
    AND (rank, step, epoch) NOT IN (
        SELECT
            rank,
            step,
            epoch
        FROM tap.superseded_steps
        WHERE run_id = xxh3(concat({run:String}, char(31)))
    )
