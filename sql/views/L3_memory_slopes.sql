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
    thinned AS (
        SELECT
            rank,
            device,
            component,
            counter,
            groupArraySorted(200)(tuple(point_step, point_bytes)) AS points
        FROM (
            SELECT
                rank,
                device,
                component,
                counter,
                toFloat64(quantileExact(0.5)(step)) AS point_step,
                toFloat64(quantileExact(0.5)(bytes)) AS point_bytes
            FROM numbered
            GROUP BY
                rank,
                device,
                component,
                counter,
                intDiv((place - 1) * 200, greatest(places, 200))
        )
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
        FROM thinned
    ),
    ends AS (
        SELECT
            rank,
            device,
            component,
            counter,
            count() AS step_count,
            min(step) AS from_step,
            max(step) AS to_step,
            argMin(bytes, step) AS first_bytes,
            argMax(bytes, step) AS last_bytes,
            max(bytes) AS greatest_bytes,
            max(step_peak_bytes) AS peak_bytes,
            max(step_retry_count) AS retry_count,
            max(step_oom_count) AS oom_count
        FROM numbered
        GROUP BY
            rank,
            device,
            component,
            counter
    )
SELECT
    ends.rank AS rank,
    ends.device AS device,
    ends.component AS component,
    ends.counter AS counter,
    slopes.point_count AS point_count,
    slopes.deviations AS deviations,
    slopes.slope AS slope,
    slopes.slope_low AS slope_low,
    slopes.slope_high AS slope_high,
    slopes.later_slope AS later_slope,
    slopes.slope_count > 0 AND slopes.rising = slopes.slope_count AS always_rises,
    ends.step_count AS step_count,
    ends.from_step AS first_step,
    ends.to_step AS last_step,
    ends.first_bytes AS first_bytes,
    ends.last_bytes AS last_bytes,
    ends.greatest_bytes AS greatest_bytes,
    if(ends.counter = 'allocated', ends.peak_bytes, NULL) AS peak_bytes,
    ends.retry_count AS retry_count,
    ends.oom_count AS oom_count
FROM ends
INNER JOIN slopes ON slopes.rank = ends.rank AND slopes.device = ends.device AND slopes.component = ends.component AND slopes.counter = ends.counter
