-- Question: who changed something, or read something out of a process, when, and with which result?
-- Grain: one row per deed, the latest first; a result unknown is that of a command that was killed, or is under way
-- Reads: tap.audits
-- Empty when: nobody did such a thing
-- Shown: began_time_ns, deed, run, target, details, system_user, host, credentials, result, reason
-- Parameter run = '': only deeds on this run; empty for all.
-- Parameter deed = '': only this deed, as delete or capture; empty for all.
-- Parameter user = '': only deeds of this user of an operating system; empty for all.
-- Parameter result = '': done, partly, refused, failed or unknown; empty for all.
-- Parameter limit = 100: greatest number of rows.
SELECT
    began_time_ns,
    deed,
    run,
    target,
    details,
    system_user,
    host,
    nats_user,
    credentials,
    result,
    reason,
    ended_time_ns,
    leftPad(lower(hex(deed_id)), 16, '0') AS deed_hex
FROM tap.audits
WHERE ({run:String} = '' OR run = {run:String})
    AND ({deed:String} = '' OR deed = {deed:String})
    AND ({user:String} = '' OR system_user = {user:String})
    AND ({result:String} = '' OR result = {result:String})
ORDER BY
    began_time_ns DESC,
    deed_id
LIMIT {limit:UInt64}
