-- Question: how often did each step call each ATen op, with which tensors?
-- Grain: one row per run, rank, step, position in its tally
-- Reads: tap.calls, tap.tallies, tap.signatures
-- Empty when: no rank was recorded at level aten
SELECT
    c.run_id AS run_id,
    c.rank AS rank,
    c.step AS step,
    t.position AS position,
    s.op_name AS op_name,
    s.inputs AS inputs,
    s.outputs AS outputs,
    t.module_path AS module_path,
    t.call_count AS call_count
FROM tap.calls AS c
INNER JOIN tap.tallies AS t ON t.tally_id = c.tally_id
LEFT ANY JOIN tap.signatures AS s ON s.signature_id = t.signature_id
