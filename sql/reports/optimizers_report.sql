-- Question: with which learning rate, momentum, betas, eps and weight decay did each optimizer of a run step, and since when?
-- Grain: one row per rank, optimizer, group of parameters, setting, step; only the first step and those where it changed
-- Reads: tap.tensors
-- Empty when: the collector saw no optimizer step, or only files were published
-- Parameter run: name of the run.
-- Parameter rank = -1: only this rank; -1 for all.
-- Parameter setting = all: lr, momentum, betas.0, betas.1, eps, weight_decay, or all.
-- Parameter first_step = 0: first step.
-- Parameter last_step = -1: last step; -1 for all.
-- Parameter limit = 10000: greatest number of rows.
-- The number of an optimizer counts those of its class in the order in which they stepped first. A learning rate that is a
-- tensor of a device has a row in each step.
SELECT
    rank,
    extract(op, '^Optimizer\\.(.*)\\.settings\\.[0-9]+$') AS optimizer,
    toUInt32OrZero(extract(op, '([0-9]+)$')) AS optimizer_index,
    toUInt32OrZero(extract(path, '^([0-9]+)\\.')) AS group_index,
    extract(path, '^[0-9]+\\.(.*)$') AS setting,
    step,
    multiIf(nan_count > 0, nan, positive_infinity_count > 0, inf, negative_infinity_count > 0, -inf, value_mean) AS value
FROM tap.tensors
WHERE run_id = xxh3(concat({run:String}, char(31)))
    AND level = 'optimizer'
    AND match(op, '^Optimizer\\..*\\.settings\\.[0-9]+$')
    AND ({rank:Int64} = -1 OR rank = {rank:Int64})
    AND ({setting:String} = 'all' OR {setting:String} = extract(path, '^[0-9]+\\.(.*)$'))
    AND step >= {first_step:Int64}
    AND ({last_step:Int64} = -1 OR step <= {last_step:Int64})
ORDER BY
    rank,
    optimizer,
    optimizer_index,
    group_index,
    setting,
    step,
    micro_step
LIMIT {limit:UInt64}
