-- Question: whose memory has risen all the time, in any run, and by how much a step?
-- Grain: one row per run, rank, device, counter that has been looked at after 16 steps or more
-- Reads: tap.memories
-- Empty when: no live rank measured its memory for so long
-- A quarter of the steps rises above another when the least of it does. It rises all the time when each does, and the last
-- lies above all of the first. The report memory-growth says more of one run: how sure it is, how peers do, and who holds it.
WITH
    looked AS (
        SELECT
            m.run_id AS run_id,
            m.run AS run,
            m.rank AS rank,
            m.device AS device,
            m.step AS step,
            max(m.event_time_ns) AS looked_time_ns,
            arrayJoin([
                ('allocated', tupleElement(argMax(tuple(m.allocated_bytes), m.seq), 1)),
                ('host resident', tupleElement(argMax(tuple(m.host_resident_bytes), m.seq), 1))
            ]) AS counter_value
        FROM tap.memories AS m
        WHERE m.op_id = 0 AND m.component = 'all'
        GROUP BY
            run_id,
            run,
            rank,
            device,
            step
    ),
    numbered AS (
        SELECT
            run_id,
            run,
            rank,
            device,
            tupleElement(counter_value, 1) AS counter,
            step,
            looked_time_ns,
            toInt64(assumeNotNull(tupleElement(counter_value, 2))) AS bytes,
            row_number() OVER (PARTITION BY run_id, rank, device, counter ORDER BY step) AS place,
            count() OVER (PARTITION BY run_id, rank, device, counter) AS places
        FROM looked
        WHERE tupleElement(counter_value, 2) IS NOT NULL
    ),
    quartered AS (
        SELECT
            run_id,
            run,
            rank,
            device,
            counter,
            step,
            looked_time_ns,
            bytes,
            places,
            intDiv((place - 1) * 4, places) AS quarter
        FROM numbered
        WHERE places >= 16
    )
SELECT
    run_id,
    run,
    rank,
    device,
    counter,
    any(places) AS step_count,
    max(looked_time_ns) AS event_time_ns,
    [minIf(bytes, quarter = 0), minIf(bytes, quarter = 1), minIf(bytes, quarter = 2), minIf(bytes, quarter = 3)] AS least_bytes,
    least_bytes[1] < least_bytes[2] AND least_bytes[2] < least_bytes[3] AND least_bytes[3] < least_bytes[4]
        AND least_bytes[4] > maxIf(bytes, quarter = 0) AS rises,
    (least_bytes[4] - least_bytes[2]) / greatest(1, (max(step) - min(step)) / 2) AS bytes_per_step,
    argMax(bytes, step) AS last_bytes
FROM quartered
GROUP BY
    run_id,
    run,
    rank,
    device,
    counter
