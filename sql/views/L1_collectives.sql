-- Question: which collectives, sends and receives did each rank call, with what, and how far did each get?
-- Grain: one row per run, rank, process_group, point_to_point, group_seq; of a rank that was started again, those since
-- Reads: tap_store.collective, tap_store.rank
-- Empty when: the run has no process groups, or its source does not see them
-- Of a rank that was recorded live, files beside it do not count: they number calls in their own way.
SELECT
    c.run_id AS run_id,
    c.rank AS rank,
    c.epoch AS epoch,
    c.process_group AS process_group,
    c.point_to_point AS point_to_point,
    c.group_seq AS group_seq,
    any(c.group_ranks) AS group_ranks,
    any(c.step) AS step,
    any(c.name) AS name,
    any(c.inputs) AS inputs,
    any(c.outputs) AS outputs,
    argMax(c.state, indexOf(['called', 'scheduled', 'started', 'failed', 'completed'], c.state)) AS state,
    min(least(c.event_time_ns, ifNull(c.started_time_ns, c.event_time_ns))) AS called_time_ns,
    max(c.started_time_ns) AS started_time_ns,
    max(c.completed_time_ns) AS completed_time_ns,
    max(c.timeout_ns) AS timeout_ns,
    max(c.stack_id) AS stack_id
FROM tap_store.collective AS c
WHERE (c.run_id, c.rank, c.epoch) IN (
    SELECT
        run_id,
        rank,
        argMax(epoch, (is_live, event_time_ns, epoch))
    FROM (
        SELECT
            run_id,
            rank,
            epoch,
            event_time_ns,
            (run_id, rank, epoch) IN (
                SELECT
                    run_id,
                    rank,
                    epoch
                FROM tap_store.rank
            ) AS is_live
        FROM tap_store.collective
    )
    GROUP BY
        run_id,
        rank
)
GROUP BY
    run_id,
    rank,
    epoch,
    process_group,
    point_to_point,
    group_seq
