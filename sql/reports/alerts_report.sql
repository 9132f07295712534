-- Question: which alerts fire now, and which did?
-- Grain: one row per alert, those that fire first, then by the time of their last change
-- Reads: tap.alerts
-- Empty when: no alert fired, or no alert role ran: docs/alerts.md
-- Shown: state, severity, rule, fired_time_ns, resolved_time_ns, fired_count, summary, command
-- Parameter state = '': firing or resolved; empty for both.
-- Parameter run = '': only alerts about this run; empty for all.
-- Parameter rule = '': only alerts of this rule; empty for all.
-- Parameter limit = 100: greatest number of rows.
SELECT
    state,
    severity,
    rule,
    run,
    labels,
    fired_time_ns,
    resolved_time_ns,
    fired_count,
    summary,
    command,
    since_time_ns,
    leftPad(lower(hex(fingerprint)), 16, '0') AS fingerprint_hex
FROM tap.alerts
WHERE ({state:String} = '' OR state = {state:String})
    AND ({run:String} = '' OR run = {run:String})
    AND ({rule:String} = '' OR rule = {rule:String})
ORDER BY
    state = 'firing' DESC,
    indexOf(['info', 'warning', 'critical'], severity) DESC,
    greatest(fired_time_ns, ifNull(resolved_time_ns, 0)) DESC,
    rule,
    fingerprint
LIMIT {limit:UInt64}
