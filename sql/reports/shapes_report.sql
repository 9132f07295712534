-- Question: which ATen ops did a run call, with tensors of which dtypes, shapes and strides, and how often?
-- Grain: one row per distinct signature; module, rank and step are those of its first call
-- Reads: tap.signature_counts
-- Empty when: no rank of the run was recorded at level aten
-- Parameter run: name of the run.
-- Parameter rank = -1: only this rank; -1 for all.
-- Parameter first_step = 0: first step.
-- Parameter last_step = -1: last step; -1 for all.
-- Parameter op = '': only ops whose name contains this text.
-- Parameter limit = 1000: greatest number of rows.
SELECT
    op_name AS op,
    inputs,
    outputs,
    sum(n.call_count) AS call_count,
    min(n.step) AS first_step,
    argMin(n.rank, (n.step, n.rank, n.position)) AS first_rank,
    argMin(n.module_path, (n.step, n.rank, n.position)) AS module,
    uniqExact(n.rank, n.step) AS step_count,
    uniqExact(n.rank) AS rank_count
FROM tap.signature_counts AS n
WHERE run_id = xxh3(concat({run:String}, char(31)))
    AND ({rank:Int64} = -1 OR n.rank = {rank:Int64})
    AND n.step >= {first_step:Int64}
    AND ({last_step:Int64} = -1 OR n.step <= {last_step:Int64})
    AND ({op:String} = '' OR position(op_name, {op:String}) > 0)
GROUP BY
    op_name,
    inputs,
    outputs
ORDER BY
    call_count DESC,
    op,
    inputs,
    outputs
LIMIT {limit:UInt64}
