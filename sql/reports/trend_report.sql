-- Question: how does one statistic of a run move from step to step, layer by layer, rank by rank, or otherwise grouped?
-- Grain: one row per group, step; layers and ranks by number, other groups by name, then by step
-- Reads: tap.trends
-- Empty when: the run has no tensors of that role and phase at those steps
-- Parameter run: name of the run.
-- Parameter statistic = l2: l2, rms, mean, min, max, nan_count, infinity_count, not_finite_count, row_count or element_count.
-- Parameter by = layer: layer, module, op, site or rank.
-- Parameter role = all: input, kwarg, output, parameter, parameter_gradient, or all.
-- Parameter phase = all: forward, backward, recompute, gradient, optimizer, none, or all.
-- Parameter first_step = 0: first step.
-- Parameter last_step = -1: last step; -1 for all.
-- Parameter limit = 10000: greatest number of rows.
SELECT
    group_index,
    group_name,
    step,
    value,
    row_count,
    not_finite_row_count
FROM tap.trends(
    run = {run:String}, statistic = {statistic:String}, by = {by:String}, role = {role:String}, phase = {phase:String},
    first_step = {first_step:Int64}, last_step = {last_step:Int64})
ORDER BY
    group_index,
    group_name,
    step
LIMIT {limit:UInt64}
