-- Question: which op raised, with which inputs, called from where, and what ran before it?
-- Grain: one row per failure, earliest first
-- Reads: tap.failures, tap.stacks, tap.steps, tap.programs, tap.ops
-- Empty when: no op of the run raised, or only files were published
-- Shown: rank, step, op, module, type, message, user_frame, ops_before
-- Parameter run: name of the run.
-- Parameter rank = -1: only this rank; -1 for all.
-- Parameter before = 5: how many ops that completed before it to name, the last ones.
-- Parameter limit = 100: greatest number of rows.
-- Where the op that raised is not among those that completed, the step's last ones stand before it, if it was cut short.
WITH
    raised AS (
        SELECT
            f.rank AS rank,
            f.step AS step,
            f.epoch AS epoch,
            f.seq AS seq,
            f.op_id AS op_id,
            ran.program_id AS program_id,
            ran.complete AS complete
        FROM tap.failures AS f
        LEFT ANY JOIN
        (
            SELECT
                rank,
                step,
                epoch,
                program_id,
                complete
            FROM tap.steps
            WHERE run_id = xxh3(concat({run:String}, char(31)))
        ) AS ran ON ran.rank = f.rank AND ran.step = f.step AND ran.epoch = f.epoch
        WHERE f.run_id = xxh3(concat({run:String}, char(31)))
    ),
    places AS (
        SELECT
            raised.rank AS rank,
            raised.step AS step,
            raised.epoch AS epoch,
            raised.seq AS seq,
            minIf(program.position, program.op_id = raised.op_id) AS own_position,
            countIf(program.op_id = raised.op_id) AS own_count,
            any(raised.complete) AS complete,
            groupArray((program.position, program.op_id)) AS ops
        FROM raised
        INNER JOIN tap.programs AS program ON program.program_id = raised.program_id
        GROUP BY
            raised.rank,
            raised.step,
            raised.epoch,
            raised.seq
    ),
    preceding AS (
        SELECT
            rank,
            step,
            epoch,
            seq,
            arrayJoin(arraySlice(arrayReverseSort(arrayFilter(
                place -> if(own_count > 0, place.1 < own_position, complete = 0), ops)), 1, {before:UInt64})) AS place
        FROM places
    ),
    named AS (
        SELECT
            rank,
            step,
            epoch,
            seq,
            arrayMap(item -> item.2, arraySort(groupArray((tupleElement(preceding.place, 1), op.name)))) AS ops_before
        FROM preceding
        LEFT ANY JOIN tap.ops AS op ON op.op_id = tupleElement(preceding.place, 2)
        GROUP BY
            rank,
            step,
            epoch,
            seq
    )
SELECT
    f.rank AS rank,
    f.step AS step,
    f.op AS op,
    f.module_path AS module,
    f.type AS type,
    f.message AS message,
    f.inputs AS inputs,
    stack.user_frame AS user_frame,
    named.ops_before AS ops_before,
    f.frames AS frames,
    f.seq AS seq,
    f.event_time_ns AS event_time_ns
FROM tap.failures AS f
LEFT ANY JOIN tap.stacks AS stack ON stack.stack_id = f.stack_id
LEFT ANY JOIN named ON named.rank = f.rank AND named.step = f.step AND named.epoch = f.epoch AND named.seq = f.seq
WHERE f.run_id = xxh3(concat({run:String}, char(31)))
    AND ({rank:Int64} = -1 OR f.rank = {rank:Int64})
ORDER BY
    event_time_ns,
    rank,
    step,
    seq
LIMIT {limit:UInt64}
