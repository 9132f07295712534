-- Question: in which op did each rank fail, with which inputs, in which module, called from where?
-- Grain: one row per rank that failed: its last failure
-- Reads: tap.failures, tap.stacks
-- Empty when: no op of the run raised and no rank died at level aten, or only files were published
-- Shown: rank, step, op, module, type, message, inputs, user_frame
-- Parameter run: name of the run.
-- Parameter rank = -1: only this rank; -1 for all.
SELECT
    f.rank AS rank,
    f.step AS step,
    f.op AS op,
    f.module_path AS module,
    f.type AS type,
    f.message AS message,
    f.inputs AS inputs,
    stack.user_frame AS user_frame,
    f.frames AS frames,
    f.event_time_ns AS event_time_ns
FROM tap.failures AS f
LEFT ANY JOIN tap.stacks AS stack ON stack.stack_id = f.stack_id
WHERE f.run_id = xxh3(concat({run:String}, char(31)))
    AND ({rank:Int64} = -1 OR f.rank = {rank:Int64})
ORDER BY
    rank,
    event_time_ns DESC,
    seq DESC
LIMIT 1 BY rank
