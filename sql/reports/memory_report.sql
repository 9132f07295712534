-- Question: does the memory of any rank grow from step to step, and by how much?
-- Grain: one row per rank, device, counter; what grows comes first, fastest first
-- Reads: tap.memory_slopes
-- Empty when: no live rank of the run measured its memory at the end of a step
-- Shown: rank, device, counter, verdict, growth_bytes_per_step, first_bytes, last_bytes, greatest_bytes, oom_count
-- Parameter run: name of the run.
-- Parameter rank = -1: only this rank; -1 for all.
-- Parameter first_step = 0: first step.
-- Parameter last_step = -1: last step; -1 for all.
-- Growth is the median of the slopes between all pairs of steps (Theil and Sen), which a third of wild steps does not
-- move. It counts as growth when steps that rise outnumber those that fall beyond chance (Mann and Kendall, three
-- deviations), and the later half still grows. Of many steps, 200 medians of neighbours stand for all.
SELECT
    rank,
    device,
    counter,
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
    retry_count,
    oom_count
FROM tap.memory_slopes(run = {run:String}, first_step = {first_step:Int64}, last_step = {last_step:Int64}) AS s
WHERE {rank:Int64} = -1 OR rank = {rank:Int64}
ORDER BY
    verdict = 'grows' DESC,
    growth_bytes_per_step DESC,
    rank,
    device,
    counter
