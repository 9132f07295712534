-- Question: how many bytes does memory differ by after each module of a run, from the look before, on average of a step?
-- Grain: one row per rank, device, counter, op; op 0 is the rest of a step: backward, optimizer, all that is outside of modules
-- Reads: tap.memories
-- Empty when: no live rank of the run measured its memory after modules (level L0)
-- Parameter run: name of the run.
-- Parameter first_step = 0: first step.
-- Parameter last_step = -1: last step; -1 for all.
-- Only the later half of the steps counts: in the first ones a program takes what it keeps. The sum over the ops of a rank
-- is what it grows by. Peers are the other ranks, by their median.
WITH
    looks AS (
        SELECT
            rank,
            epoch,
            device,
            step,
            seq,
            op_id,
            op,
            module_path,
            arrayJoin([
                ('allocated', tuple(allocated_bytes)),
                ('reserved', tuple(reserved_bytes)),
                ('host resident', tuple(host_resident_bytes))
            ]) AS counter_value
        FROM tap.memories
        WHERE run_id = xxh3(concat({run:String}, char(31))) AND component = 'all'
            AND step >= {first_step:Int64}
            AND ({last_step:Int64} = -1 OR step <= {last_step:Int64})
    ),
    changes AS (
        SELECT
            rank,
            device,
            tupleElement(counter_value, 1) AS counter,
            step,
            op_id,
            op,
            module_path,
            toInt64(tupleElement(tupleElement(counter_value, 2), 1)) AS bytes,
            bytes - lagInFrame(bytes) OVER (PARTITION BY rank, epoch, device, counter ORDER BY step, seq) AS change,
            row_number() OVER (PARTITION BY rank, epoch, device, counter ORDER BY step, seq) > 1 AS has_before,
            min(step) OVER (PARTITION BY rank, device) + max(step) OVER (PARTITION BY rank, device) AS twice_the_middle,
            max(op_id) OVER (PARTITION BY rank, epoch, device) AS greatest_op_id
        FROM looks
    ),
    means AS (
        SELECT
            rank,
            device,
            splitByChar(':', device)[1] AS device_kind,
            counter,
            op_id,
            any(changes.op) AS op,
            any(changes.module_path) AS module_path,
            sum(change) / uniqExact(step) AS change_bytes_per_step
        FROM changes
        WHERE has_before AND change IS NOT NULL AND greatest_op_id != 0 AND 2 * step >= twice_the_middle
        GROUP BY
            rank,
            device,
            counter,
            op_id
    )
SELECT
    rank,
    device,
    counter,
    op_id,
    op,
    module_path,
    change_bytes_per_step,
    arrayMap(
        p -> tupleElement(p, 2),
        arrayFilter(p -> tupleElement(p, 1) != rank, groupArray((rank, change_bytes_per_step)) OVER (PARTITION BY device_kind, counter, op_id))) AS others,
    if(empty(others), NULL, arrayReduce('quantileExact(0.5)', others)) AS peers_bytes_per_step
FROM means
