-- Question: how fast does the memory of each rank of a run move from step to step, and how sure is that?
-- Grain: one row per rank, device, component, counter
-- Reads: tap.memory_counters
-- Empty when: no live rank of the run measured its memory at the end of a step
-- Parameter run: name of the run.
-- Parameter first_step = 0: first step.
-- Parameter last_step = -1: last step; -1 for all.
-- A slope is the median of the slopes between all pairs of steps (Theil and Sen), which a third of wild steps does not
-- move; 99 times of 100 the true one lies between slope_low and slope_high. Deviations say by how much pairs that rise
-- outnumber those that fall beyond chance (Mann and Kendall). Of many steps, 200 medians of neighbours stand for all.
WITH
    numbered AS (
        SELECT
            rank,
            device,
            component,
            step,
            counter,
            bytes,
            step_peak_bytes,
            step_retry_count,
            step_oom_count,
            row_number() OVER (PARTITION BY rank, device, component, counter ORDER BY step) AS place,
            count() OVER (PARTITION BY rank, device, component, counter) AS places
        FROM tap.memory_counters(run = {run:String}, first_step = {first_step:Int64}, last_step = {last_step:Int64})
    ),
    -- Both the points of the slope and what the whole counter did: read twice, the counters made most of what this takes.
    parts AS (
        SELECT
            rank,
            device,
            component,
            counter,
            toFloat64(quantileExact(0.5)(step)) AS point_step,
            toFloat64(quantileExact(0.5)(bytes)) AS point_bytes,
            count() AS part_count,
            min(step) AS part_from,
            max(step) AS part_to,
            argMin(bytes, step) AS part_first,
            argMax(bytes, step) AS part_last,
            max(bytes) AS part_greatest,
            max(step_peak_bytes) AS part_peak,
            max(step_retry_count) AS part_retries,
            max(step_oom_count) AS part_ooms
        FROM numbered
        GROUP BY
            rank,
            device,
            component,
            counter,
            intDiv((place - 1) * 200, greatest(places, 200))
    ),
    whole AS (
        SELECT
            rank,
            device,
            component,
            counter,
            groupArraySorted(200)(tuple(point_step, point_bytes)) AS points,
            sum(part_count) AS step_count,
            min(part_from) AS from_step,
            max(part_to) AS to_step,
            argMin(part_first, part_from) AS first_bytes,
            argMax(part_last, part_to) AS last_bytes,
            max(part_greatest) AS greatest_bytes,
            max(part_peak) AS whole_peak,
            max(part_retries) AS retry_count,
            max(part_ooms) AS oom_count
        FROM parts
        GROUP BY
            rank,
            device,
            component,
            counter
    ),
    slopes AS (
        SELECT
            rank,
            device,
            component,
            counter,
            step_count,
            from_step,
            to_step,
            first_bytes,
            last_bytes,
            greatest_bytes,
            whole_peak,
            retry_count,
            oom_count,
            length(points) AS point_count,
            arrayFlatten(arrayMap((p, i) -> arrayMap(q -> (q.2 - p.2) / (q.1 - p.1), arraySlice(points, i + 1)), points, arrayEnumerate(points))) AS all_slopes,
            arraySlice(points, intDiv(point_count, 2) + 1) AS later,
            arrayFlatten(arrayMap((p, i) -> arrayMap(q -> (q.2 - p.2) / (q.1 - p.1), arraySlice(later, i + 1)), later, arrayEnumerate(later))) AS later_slopes,
            if(empty(all_slopes), 0, arrayReduce('quantileExact(0.5)', all_slopes)) AS slope,
            if(empty(later_slopes), 0, arrayReduce('quantileExact(0.5)', later_slopes)) AS later_slope,
            arraySum(s -> sign(s), all_slopes) AS rising,
            sqrt(greatest(1, point_count * (point_count - 1) * (2 * point_count + 5) / 18)) AS deviation,
            rising / deviation AS deviations,
            arraySort(all_slopes) AS sorted_slopes,
            toFloat64(length(all_slopes)) AS slope_count,
            if(empty(all_slopes), 0, sorted_slopes[toUInt64(greatest(1, floor((slope_count - 2.576 * deviation) / 2)))]) AS slope_low,
            if(empty(all_slopes), 0, sorted_slopes[toUInt64(least(slope_count, ceil((slope_count + 2.576 * deviation) / 2) + 1))]) AS slope_high
        FROM whole
    )
SELECT
    rank,
    device,
    component,
    counter,
    point_count,
    deviations,
    slope,
    slope_low,
    slope_high,
    later_slope,
    slope_count > 0 AND rising = slope_count AS always_rises,
    step_count,
    from_step AS first_step,
    to_step AS last_step,
    first_bytes,
    last_bytes,
    greatest_bytes,
    if(counter = 'allocated', whole_peak, NULL) AS peak_bytes,
    retry_count,
    oom_count
FROM slopes
