-- Question: what else differs between the two runs?
-- Grain: one row per property that differs; an empty value is not known
-- Reads: tap.run_properties
-- Empty when: nothing recorded about the runs differs
-- Parameter problem: name of the run under suspicion.
-- Parameter bench: name of the run it is held against.
SELECT
    property,
    anyIf(value, run_id = xxh3(concat({problem:String}, char(31)))) AS problem,
    anyIf(value, run_id = xxh3(concat({bench:String}, char(31)))) AS bench
FROM tap.run_properties
WHERE run_id IN (xxh3(concat({problem:String}, char(31))), xxh3(concat({bench:String}, char(31))))
GROUP BY property
HAVING problem != bench
ORDER BY property
