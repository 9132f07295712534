-- Question: where does an op stand in a run: in which module, called by whom and from which line?
-- Grain: one row, of the program that ran at that rank and step, or of another of the run that has the op
-- Reads: tap.steps, tap.programs, tap.ops, tap.program_stacks, tap.stacks
-- Empty when: no step of the run that has the op has ended
-- Parameter run: name of the run.
-- Parameter op: full name of the op.
-- Parameter rank = -1: rank to look at first; -1 for any.
-- Parameter step = -1: step to look at first; -1 for any.
WITH placed AS (
    SELECT
        ran.program_id AS program_id,
        ran.rank AS rank,
        ran.step AS step,
        programs.position AS position,
        programs.op_id AS op_id,
        programs.parent_op_id AS parent_op_id
    FROM tap.steps AS ran
    INNER JOIN tap.programs AS programs ON programs.program_id = ran.program_id
    WHERE ran.run_id = xxh3(concat({run:String}, char(31))) AND programs.op_id = xxh3(concat({op:String}, char(31)))
    ORDER BY
        rank = {rank:Int64} AND step = {step:Int64} DESC,
        rank = {rank:Int64} DESC,
        step,
        rank
    LIMIT 1
)
SELECT
    {op:String} AS op,
    placed.rank AS rank,
    placed.step AS step,
    multiIf(
        own.module_path != '', own.module_path,
        parent.module_path != '', parent.module_path,
        parent.name) AS module,
    parent.name AS parent,
    placed.position AS position,
    stacks.user_frame AS user_frame,
    stacks.frames AS frames
FROM placed
LEFT ANY JOIN tap.ops AS own ON own.op_id = placed.op_id
LEFT ANY JOIN tap.ops AS parent ON parent.op_id = placed.parent_op_id
LEFT ANY JOIN
(
    SELECT
        program_id,
        position,
        stack_id
    FROM tap.program_stacks
    WHERE run_id = xxh3(concat({run:String}, char(31)))
) AS place ON place.program_id = placed.program_id AND place.position = placed.position
LEFT ANY JOIN tap.stacks AS stacks ON stacks.stack_id = place.stack_id
ORDER BY op
