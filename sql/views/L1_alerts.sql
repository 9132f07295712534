-- Question: which alerts fired, and which of them still do?
-- Grain: one row per alert (fingerprint), by its latest change
-- Reads: tap_store.alert
-- Empty when: no alert ever fired, or no alert role ran
SELECT
    fingerprint,
    argMax(told, change).1 AS state,
    rule,
    argMax(told, change).2 AS severity,
    argMax(told, change).3 AS run,
    argMax(told, change).4 AS labels,
    argMax(told, change).5 AS summary,
    argMax(told, change).6 AS command,
    toInt64(max(changed_ns * (change % 2))) AS fired_time_ns,
    if(state = 'resolved', toNullable(max(changed_ns)), NULL) AS resolved_time_ns,
    argMax(told, change).7 AS since_time_ns,
    toUInt64(intDiv(max(change) + 1, 2)) AS fired_count
FROM
(
    SELECT
        fingerprint,
        rule,
        ordinal AS change,
        min(tap_store.alert.changed_time_ns) AS changed_ns,
        any((state, severity, run_name, labels, summary, command, tap_store.alert.since_time_ns)) AS told
    FROM tap_store.alert
    GROUP BY
        fingerprint,
        rule,
        ordinal
)
GROUP BY
    fingerprint,
    rule
