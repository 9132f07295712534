-- Question: how far are raw tensors of two runs apart, element by element?
-- Grain: one row per pair of runs, rank, step and pair of sites
-- Reads: tap_store.payload_error
-- Empty when: no raw tensors were compared
SELECT
    problem_run_id,
    bench_run_id,
    rank,
    step,
    problem_site_id,
    bench_site_id,
    element_count,
    same_bits,
    cosine,
    relative_l2,
    l2_distance,
    max_absolute,
    max_relative,
    thousandth_ratio,
    five_thousandth_ratio,
    message
FROM tap_store.payload_error FINAL
