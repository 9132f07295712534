-- Question: who changed something, or read something out of a process, when, and with which result?
-- Grain: one row per deed (deed_id)
-- Reads: tap_store.audit
-- Empty when: nobody did such a thing
SELECT
    deed_id,
    any(deed) AS deed,
    any(run_name) AS run,
    any(target) AS target,
    any(details) AS details,
    any(system_user) AS system_user,
    any(host) AS host,
    any(nats_user) AS nats_user,
    any(credentials) AS credentials,
    toInt64(min(written_time_ns)) AS began_time_ns,
    if(max(ordinal) = 1, toNullable(maxIf(written_time_ns, ordinal = 1)), NULL) AS ended_time_ns,
    if(max(ordinal) = 1, argMax(result, ordinal), 'unknown') AS result,
    argMax(reason, ordinal) AS reason
FROM tap_store.audit
GROUP BY deed_id
