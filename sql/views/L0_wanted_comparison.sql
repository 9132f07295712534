-- Question: which comparison of two runs is asked for?
-- Grain: one row; its id is 0 where nothing was declared
-- Reads: tap_store.declared_comparison
-- Empty when: never
-- Parameter problem: name of the run under suspicion.
-- Parameter bench: name of the run it is held against.
-- Parameter comparison: id of the comparison, of several; empty for the one that was asked for last.
SELECT argMax(tap_store.declared_comparison.comparison_id, declared_time_ns) AS comparison_id
FROM tap_store.declared_comparison
WHERE problem = {problem:String}
    AND benches[1] = {bench:String}
    AND {comparison:String} IN ('', leftPad(lower(hex(tap_store.declared_comparison.comparison_id)), 16, '0'))
