-- Question: what ran in one step of a run, in which order, and what called it?
-- Grain: one row per op, in the order in which they ended
-- Reads: tap.steps, tap.programs, tap_store.op
-- Empty when: the step has not ended
-- Shown: position, op, level, phase, module
-- Parameter run: name of the run.
-- Parameter rank = -1: rank of the run; -1 for the first.
-- Parameter step = -1: step of the run; -1 for the first that has ended.
-- Parameter limit = 1000000: greatest number of rows.
-- A module ends after all that it called. The position of its parent, the module or op that called it, is null where that is not known.
WITH
    (
        SELECT argMin((rank, step, program_id), (rank, step))
        FROM tap.steps
        WHERE run_id = xxh3(concat({run:String}, char(31)))
            AND ({rank:Int64} = -1 OR rank = {rank:Int64})
            AND ({step:Int64} = -1 OR step = {step:Int64})
    ) AS place,
    program AS (
        SELECT
            position,
            op_id,
            parent_op_id
        FROM tap.programs
        WHERE program_id = tupleElement(place, 3)
    )
SELECT
    tupleElement(place, 1) AS rank,
    tupleElement(place, 2) AS step,
    program.position AS position,
    if(caller.op_id = 0, NULL, toNullable(caller.position)) AS parent_position,
    op.name AS op,
    op.level AS level,
    op.phase AS phase,
    multiIf(op.module_path != '', op.module_path, parent.module_path) AS module
FROM program
LEFT ANY JOIN program AS caller ON caller.op_id = program.parent_op_id
LEFT ANY JOIN tap_store.op AS op ON op.op_id = program.op_id
LEFT ANY JOIN tap_store.op AS parent ON parent.op_id = program.parent_op_id
ORDER BY position
LIMIT {limit:UInt64}
