-- Question: does the memory of any rank grow from step to step, and by how much?
-- Grain: one row per rank, device, component, counter; what grows comes first, fastest first
-- Reads: tap.memory_slopes, tap.memories
-- Empty when: no live rank of the run measured its memory at the end of a step: dumps hold none, `tensortap run` records it
-- Shown: rank, device, component, counter, verdict, growth_bytes_per_step, first_bytes, last_bytes, greatest_bytes, peak_op, oom_count
-- Parameter run: name of the run.
-- Parameter rank = -1: only this rank; -1 for all.
-- Parameter first_step = 0: first step.
-- Parameter last_step = -1: last step; -1 for all.
-- Growth is the median of the slopes between all pairs of steps (Theil and Sen), which a third of wild steps does not
-- move. It counts as growth when steps that rise outnumber those that fall beyond chance (Mann and Kendall, three
-- deviations), and the later half still grows. Of many steps, 200 medians of neighbours stand for all.
-- The peak's step and op are those of the greatest look at memory, after which module it was: empty for the end of a step,
-- and where modules were not looked at (`memory`, level L0). Component all is the whole device or host; basis says what the
-- bytes of another rest on. Of kv, allocated is in use and reserved the capacity; of activations the peak counts.
WITH peaks AS (
    SELECT
        rank,
        device,
        component,
        tupleElement(counter_value, 1) AS counter,
        any(basis) AS basis,
        argMax((step, op, module_path), tupleElement(counter_value, 2)) AS greatest
    FROM (
        SELECT
            rank,
            device,
            component,
            basis,
            step,
            op,
            module_path,
            arrayJoin([
                ('allocated', ifNull(if(component = 'activations', peak_bytes, allocated_bytes), 0)),
                ('reserved', ifNull(reserved_bytes, 0)),
                ('host resident', ifNull(host_resident_bytes, 0))
            ]) AS counter_value
        FROM tap.memories
        WHERE run_id = xxh3(concat({run:String}, char(31)))
            AND ({rank:Int64} = -1 OR rank = {rank:Int64})
            AND step >= {first_step:Int64}
            AND ({last_step:Int64} = -1 OR step <= {last_step:Int64})
    )
    GROUP BY
        rank,
        device,
        component,
        counter
)
SELECT
    s.rank AS rank,
    s.device AS device,
    s.component AS component,
    s.counter AS counter,
    multiIf(
        point_count < 8, 'too few steps',
        deviations >= 3 AND slope > 0 AND later_slope > 0, 'grows',
        deviations <= -3 AND slope < 0 AND later_slope < 0, 'shrinks',
        'steady') AS verdict,
    slope AS growth_bytes_per_step,
    later_slope AS later_growth_bytes_per_step,
    step_count,
    s.first_step AS first_step,
    s.last_step AS last_step,
    first_bytes,
    last_bytes,
    greatest_bytes,
    peak_bytes,
    tupleElement(peaks.greatest, 1) AS peak_step,
    tupleElement(peaks.greatest, 2) AS peak_op,
    tupleElement(peaks.greatest, 3) AS peak_module,
    retry_count,
    oom_count,
    peaks.basis AS basis
FROM tap.memory_slopes(run = {run:String}, first_step = {first_step:Int64}, last_step = {last_step:Int64}) AS s
LEFT JOIN peaks ON peaks.rank = s.rank AND peaks.device = s.device AND peaks.component = s.component AND peaks.counter = s.counter
WHERE {rank:Int64} = -1 OR s.rank = {rank:Int64}
ORDER BY
    verdict = 'grows' DESC,
    growth_bytes_per_step DESC,
    rank,
    device,
    component,
    counter
