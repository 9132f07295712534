-- Question: what did the program say of itself in numbers: by tensortap.note and timer, in its log, or in files of scalars?
-- Grain: one row per source, name, rank; names in their order
-- Reads: tap.metrics
-- Empty when: no such number is known of the run
-- Shown: name, rank, number_count, first_step, last_step, value_last, value_min, value_mean, value_max, value_sum, not_finite_count, source
-- Parameter run: name of the run.
-- Parameter metric = '': a regular expression that the name matches, as ^load.
-- Parameter source = '': only numbers of this source, as note, timer, huggingface metrics.
-- Parameter rank = -1: only this rank; -1 for all.
-- Parameter first_step = 0: first step; numbers of no step are of all.
-- Parameter last_step = -1: last step; -1 for all.
-- Parameter limit = 1000: greatest number of rows.
-- Least, mean, greatest value and sum are those of finite numbers. The last is the latest by time. 4294967295 is no rank.
SELECT
    source,
    name,
    rank,
    count() AS number_count,
    min(step) AS first_step,
    max(step) AS last_step,
    argMax(value, (event_time_ns, seq)) AS value_last,
    if(countIf(isFinite(value)) = 0, NULL, minIf(value, isFinite(value))) AS value_min,
    if(countIf(isFinite(value)) = 0, NULL, avgIf(value, isFinite(value))) AS value_mean,
    if(countIf(isFinite(value)) = 0, NULL, maxIf(value, isFinite(value))) AS value_max,
    if(countIf(isFinite(value)) = 0, NULL, sumIf(value, isFinite(value))) AS value_sum,
    countIf(NOT isFinite(value)) AS not_finite_count,
    minIf(step, NOT isFinite(value)) AS first_not_finite_step
FROM tap.metrics
WHERE run_id = xxh3(concat({run:String}, char(31)))
    AND ({metric:String} = '' OR match(name, {metric:String}))
    AND ({source:String} = '' OR source = {source:String})
    AND ({rank:Int64} < 0 OR tap.metrics.rank = {rank:Int64})
    AND (step IS NULL OR (step >= {first_step:Int64} AND ({last_step:Int64} = -1 OR step <= {last_step:Int64})))
GROUP BY
    source,
    name,
    rank
ORDER BY
    source,
    name,
    rank
LIMIT {limit:UInt64}
