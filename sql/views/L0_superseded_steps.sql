-- Question: which observations of a step were replaced by later ones and are hidden?
-- Grain: one row per run, rank, step, epoch that is not the one to keep
-- Reads: tap_store.step
-- Empty when: no step of a rank was observed more than once
SELECT
    run_id,
    rank,
    step,
    arrayJoin(arrayFilter(candidate -> candidate != kept_epoch, groupUniqArray(tap_store.step.epoch))) AS epoch,
    argMax(tap_store.step.epoch, (generation, event_time_ns, tap_store.step.epoch)) AS kept_epoch
FROM tap_store.step
GROUP BY
    run_id,
    rank,
    step
HAVING uniqExact(tap_store.step.epoch) > 1
