-- Question: which runs are stored, what were they, and are they alive?
-- Grain: one row per run, by its latest description
-- Reads: tap_store.run, tap_store.step, tap_store.tensor, tap_store.heartbeat, tap.superseded_steps
-- Empty when: no run was published
WITH
    described AS (
        SELECT
            run_id,
            name,
            model,
            framework,
            framework_version,
            engine,
            engine_version,
            world_size,
            dtype,
            seed,
            source,
            level,
            task,
            host,
            `commit`,
            config,
            labels,
            first_event_time_ns,
            event_time_source
        FROM tap_store.run
        ORDER BY
            run_id,
            first_event_time_ns DESC,
            epoch DESC
        LIMIT 1 BY run_id
    ),
    observed AS (
        SELECT
            run_id,
            uniqExact(rank) AS rank_count,
            uniqExact(step) AS step_count,
            min(step) AS first_step,
            max(step) AS last_step,
            max(event_time_ns) AS last_step_time_ns,
            min(complete) AS all_complete,
            max(dropped_count) AS most_dropped
        FROM tap_store.step
        WHERE (run_id, rank, step, epoch) NOT IN (
            SELECT
                run_id,
                rank,
                step,
                epoch
            FROM tap.superseded_steps
        )
        GROUP BY run_id
    ),
    recent AS (
        SELECT
            run_id,
            max(event_time_ns) AS last_tensor_time_ns
        FROM tap_store.tensor
        WHERE event_time_ns > toUnixTimestamp64Nano(now64(9)) - 60000000000
        GROUP BY run_id
    ),
    -- As in tap.heartbeats, summed up.
    heard AS (
        SELECT
            run_id,
            count() AS heard_rank_count,
            countIf(last_state = 'running') AS running_rank_count,
            countIf(last_state = 'died') AS died_rank_count,
            max(last_sign_ns) AS last_heartbeat_time_ns
        FROM (
            SELECT
                run_id,
                rank,
                argMax(state, (event_time_ns, epoch, state != 'running', batch)) AS last_state,
                max(event_time_ns) AS last_sign_ns
            FROM tap_store.heartbeat
            GROUP BY
                run_id,
                rank
        )
        GROUP BY run_id
    )
SELECT
    described.run_id AS run_id,
    name,
    model,
    framework,
    framework_version,
    engine,
    engine_version,
    world_size,
    dtype,
    seed,
    source,
    level,
    task,
    host,
    `commit`,
    config,
    labels,
    first_event_time_ns,
    event_time_source,
    rank_count,
    step_count,
    if(step_count > 0, toNullable(first_step), NULL) AS first_step,
    if(step_count > 0, toNullable(last_step), NULL) AS last_step,
    greatest(first_event_time_ns, last_step_time_ns, last_tensor_time_ns, last_heartbeat_time_ns) AS last_event_time_ns,
    multiIf(
        step_count = 0 AND source = 'logs', 'ended',
        step_count > 0 AND event_time_source = 'file', if(all_complete = 1 AND most_dropped = 0, 'ended', 'incomplete'),
        died_rank_count > 0, 'died',
        heard_rank_count > 0 AND running_rank_count = 0, 'ended',
        last_event_time_ns > toUnixTimestamp64Nano(now64(9)) - 60000000000, 'running',
        step_count > 0 AND all_complete = 1 AND running_rank_count = 0, 'ended',
        if(event_time_source = 'file', 'incomplete', 'died')) AS status
FROM described
LEFT JOIN observed ON observed.run_id = described.run_id
LEFT JOIN recent ON recent.run_id = described.run_id
LEFT JOIN heard ON heard.run_id = described.run_id
