-- Question: which signs of trouble does a run have, and so which reports are worth asking?
-- Grain: one row
-- Reads: tap_store.heartbeat, tap_store.log, tap_store.failure, tap_store.collective, tap_store.tensor, tap_store.unseen, tap_store.memory
-- Empty when: never
-- Parameter run: name of the run.
-- Cheap, where each report plans joins of many views. Rows that a later start of a rank superseded are counted too: a sign
-- that is not there means an empty report; a sign that is there need not mean trouble.
WITH
    xxh3(concat({run:String}, char(31))) AS wanted_run_id
SELECT
    (SELECT count() FROM tap_store.heartbeat WHERE run_id = wanted_run_id AND state NOT IN ('running', 'ended')) AS death_count,
    death_count + (SELECT count() FROM tap_store.log WHERE run_id = wanted_run_id AND match(concat(text, exception), 'EngineCore (encountered a fatal error|failed to start)|(Scheduler|WorkerProc|DetokenizerManager|TokenizerManager|DataParallelController) hit an exception')) AS crash_count,
    (SELECT count() FROM tap_store.failure WHERE run_id = wanted_run_id) AS failure_count,
    (SELECT count() FROM tap_store.collective WHERE run_id = wanted_run_id) AS collective_count,
    (SELECT count() FROM tap_store.unseen WHERE run_id = wanted_run_id) AS unseen_count,
    (SELECT uniqExact(step) FROM tap_store.memory WHERE run_id = wanted_run_id) AS memory_step_count,
    uniqExact(rank) AS rank_count,
    countIf(NOT isFinite(value_min) OR NOT isFinite(value_max) OR NOT isFinite(value_mean)
        OR nan_count + positive_infinity_count + negative_infinity_count > 0) AS not_finite_count
FROM tap_store.tensor
WHERE run_id = wanted_run_id
ORDER BY rank_count
