-- Question: what did each call stack hold of a device's memory, when a snapshot was taken and at its peak?
-- Grain: one row per run, rank, step, device, moment, state, stack, epoch; replaced observations are hidden
-- Reads: tap_store.allocation, tap.superseded_steps, tap_store.run
-- Empty when: no snapshot of an allocator was published
SELECT
    a.run_id AS run_id,
    if(r.name = '', leftPad(lower(hex(a.run_id)), 16, '0'), r.name) AS run,
    a.rank AS rank,
    a.step AS step,
    a.device AS device,
    a.moment AS moment,
    a.state AS state,
    a.component AS component,
    a.stack_id AS stack_id,
    a.allocation_count AS allocation_count,
    a.size_bytes AS size_bytes,
    a.requested_bytes AS requested_bytes,
    a.epoch AS epoch,
    a.event_time_ns AS event_time_ns
FROM tap_store.allocation AS a
LEFT ANY JOIN tap_store.run AS r ON r.run_id = a.run_id
WHERE (a.run_id, a.rank, a.step, a.epoch) NOT IN (
    SELECT
        run_id,
        rank,
        step,
        epoch
    FROM tap.superseded_steps
)
