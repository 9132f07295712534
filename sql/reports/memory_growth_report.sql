-- Question: whose memory grows without end, by how much a step, and which component, module or call stack does it belong to?
-- Grain: one row per rank, device, component, counter that grows; those that differ from their peers come first, of these all of a device
-- Reads: tap.memory_slopes, tap.memory_module_changes, tap.allocation_changes, tap.allocations
-- Empty when: nothing grows, or no rank of the run measured its memory: report memory shows which did
-- Shown: rank, device, component, counter, growth_bytes_per_step, growth_low, growth_high, peers_bytes_per_step, differs, op, op_bytes_per_step, user_frame, step_count, last_step
-- Parameter run: name of the run.
-- Parameter rank = -1: only this rank; -1 for all. Its peers are all other ranks in any case.
-- Parameter first_step = 0: first step.
-- Parameter last_step = -1: last step; -1 for all.
-- Parameter least_bytes_per_step = 65536: less growth is none.
-- Growth counts where its lower bound (99 times of 100) is above the least, steps that rise outnumber those that fall
-- beyond chance, and the later half still grows (report memory). Of 3 to 7 snapshots of an allocator, each has to hold more
-- than the one before; two do not tell growth from noise: report memory-diff-stacks.
-- A rank differs when its growth exceeds the median of its peers by half or more. A module (recorded with `memory`, level L0)
-- is named when memory rises after it by about the growth, between half and twice: by what exceeds peers that do not grow,
-- or else as it is. What modules keep for the backward pass rises, too: without such peers, it is named if no other rises
-- by half of the growth. A call stack is named likewise, by the first snapshot and the last. Component all is the whole
-- device or host; a part of it that grows by itself has a row of its own. The use of a KV cache has none: it fills up to a
-- capacity (report memory).
WITH
    slopes AS (
        SELECT
            rank,
            device,
            component,
            counter,
            slope,
            slope_low,
            slope_high,
            step_count,
            s.first_step AS from_step,
            s.last_step AS to_step,
            first_bytes,
            last_bytes,
            later_slope >= {least_bytes_per_step:Float64} AND slope >= {least_bytes_per_step:Float64} AND multiIf(
                point_count >= 8, deviations >= 3 AND slope_low >= {least_bytes_per_step:Float64},
                point_count >= 3, always_rises AND (rank, device) IN (
                    SELECT
                        rank,
                        device
                    FROM tap.allocations
                    WHERE run_id = xxh3(concat({run:String}, char(31)))
                ),
                false) AS grows,
            arrayMap(
                p -> tupleElement(p, 2),
                arrayFilter(p -> tupleElement(p, 1) != rank, groupArray((rank, slope)) OVER (PARTITION BY splitByChar(':', device)[1], component, counter))) AS others,
            if(empty(others), NULL, arrayReduce('quantileExact(0.5)', others)) AS peers_slope,
            ifNull(slope - peers_slope >= slope / 2, 0) AS differs
        FROM tap.memory_slopes(run = {run:String}, first_step = {first_step:Int64}, last_step = {last_step:Int64}) AS s
    ),
    growing AS (
        SELECT
            rank,
            device,
            component,
            counter,
            slope,
            slope_low,
            slope_high,
            step_count,
            from_step,
            to_step,
            first_bytes,
            last_bytes,
            peers_slope,
            differs,
            component = 'all' AS is_all
        FROM slopes
        WHERE grows AND (component != 'kv' OR counter = 'reserved') AND ({rank:Int64} = -1 OR rank = {rank:Int64})
    ),
    -- A row for each that grows, beside it all modules and all stacks of its device: to group rows again costs more than all else.
    beside AS (
        SELECT
            growing.rank AS rank,
            growing.device AS device,
            growing.component AS component,
            growing.counter AS counter,
            growing.slope AS slope,
            growing.slope_low AS slope_low,
            growing.slope_high AS slope_high,
            growing.step_count AS step_count,
            growing.from_step AS from_step,
            growing.to_step AS to_step,
            growing.first_bytes AS first_bytes,
            growing.last_bytes AS last_bytes,
            growing.peers_slope AS peers_slope,
            growing.differs AS differs,
            growing.is_all AS is_all,
            arrayFilter(m -> is_all AND m.3 >= slope / 2, arrayMap(m -> (m.1, m.2, m.3 - if(differs, ifNull(m.4, 0), 0)), changed.modules)) AS modules,
            arraySort(m -> abs(m.3 - slope), arrayFilter(m -> abs(m.3 - slope) <= slope AND (differs OR length(modules) = 1), modules))[1] AS module_of,
            arrayMap(s -> (s.1, s.2, s.3, s.4 - if(differs, ifNull(s.5, 0), 0)), held.stacks) AS stacks,
            arraySort(s -> abs(s.4 - slope), arrayFilter(s -> is_all AND counter = 'allocated' AND s.4 BETWEEN slope / 2 AND slope * 2, stacks))[1] AS stack_of
        FROM growing
        LEFT ANY JOIN
        (
            SELECT
                rank,
                device,
                counter,
                groupArray((if(op_id = 0, 'outside of modules', op), module_path, change_bytes_per_step, peers_bytes_per_step)) AS modules
            FROM tap.memory_module_changes(run = {run:String}, first_step = {first_step:Int64}, last_step = {last_step:Int64})
            GROUP BY
                rank,
                device,
                counter
        ) AS changed ON changed.rank = growing.rank AND changed.device = growing.device AND changed.counter = growing.counter
        LEFT ANY JOIN
        (
            SELECT
                rank,
                device,
                groupArray((user_frame, component, stack_id, change_bytes_per_step, peers_bytes_per_step)) AS stacks
            FROM tap.allocation_changes(run = {run:String}, first_step = {first_step:Int64}, last_step = {last_step:Int64})
            GROUP BY
                rank,
                device
        ) AS held ON held.rank = growing.rank AND held.device = growing.device
    )
SELECT
    rank,
    device,
    component,
    counter,
    slope AS growth_bytes_per_step,
    slope_low AS growth_low,
    slope_high AS growth_high,
    peers_slope AS peers_bytes_per_step,
    differs,
    tupleElement(module_of, 1) AS op,
    tupleElement(module_of, 2) AS module,
    if(op = '', NULL, tupleElement(module_of, 3)) AS op_bytes_per_step,
    tupleElement(stack_of, 1) AS user_frame,
    tupleElement(stack_of, 2) AS stack_component,
    tupleElement(stack_of, 3) AS stack_id,
    if(stack_id = 0, NULL, tupleElement(stack_of, 4)) AS stack_bytes_per_step,
    step_count,
    from_step AS first_step,
    to_step AS last_step,
    first_bytes,
    last_bytes
FROM beside
ORDER BY
    differs DESC,
    is_all DESC,
    growth_bytes_per_step DESC,
    rank,
    device,
    component,
    counter
