-- Question: which tensors hold NaN or infinity, and in which op did they arise?
-- Grain: one row per rank, step, op, role, path that is not finite, by step, then position in execution order, then rank
-- Reads: tap.overflows, tap.meetings, tap.steps, tap.programs, tap.sites, tap.ops, tap.layouts
-- Empty when: every minimum, maximum and mean is finite and nothing not finite was counted
-- Shown: rank, step, op, module, role, path, dtype, nan_count, positive_infinity_count, negative_infinity_count
-- Parameter run: name of the run.
-- Parameter rank = -1: only this rank; -1 for all.
-- Parameter first_step = 0: first step.
-- Parameter last_step = -1: last step; -1 for all.
-- Parameter exceptions = 1: 0 leaves out what is meant to be infinite, as masks are.
-- Parameter limit = 20: greatest number of rows.
-- An op is an origin when no input, keyword argument or parameter of it is not finite while an output is. A module is
-- none when something in it is not finite, nor is a collective that another rank gave something not finite. A literal
-- and a parameter are told apart from what ops pass on. The gradient of a parameter is an output of the op that gives
-- it; where that op is the gradient itself, as in dumps of msProbe, it has no inputs to look at and is called gradient.
WITH
    -- Each row, and once more as a mark at the module that its op ran in: a module with something bad in it passed that on. What is
    -- bad is read once for both, as most of the time goes into the plan of that.
    marked AS (
        SELECT
            bad.rank AS rank,
            bad.step AS step,
            bad.micro_step AS micro_step,
            bad.seq AS seq,
            bad.site_id AS site_id,
            bad.layout_id AS layout_id,
            bad.measured AS measured,
            bad.value_min AS value_min,
            bad.value_max AS value_max,
            bad.value_mean AS value_mean,
            bad.value_l2 AS value_l2,
            bad.nan_count AS nan_count,
            bad.positive_infinity_count AS positive_infinity_count,
            bad.negative_infinity_count AS negative_infinity_count,
            bad.excused AS excused,
            site.role AS role,
            site.path AS path,
            site.role IN ('output', 'parameter_gradient') AS is_output,
            program.parent_op_id AS parent_op_id,
            arrayJoin(if(bad.excused OR program.parent_op_id = 0, [(site.op_id, false)], [(site.op_id, false), (program.parent_op_id, true)])) AS place,
            tupleElement(place, 1) AS op_id,
            tupleElement(place, 2) AS is_mark
        FROM tap.overflows(run = {run:String}, rank = {rank:Int64}, first_step = {first_step:Int64}, last_step = {last_step:Int64}) AS bad
        LEFT ANY JOIN tap.sites AS site ON site.site_id = bad.site_id
        LEFT ANY JOIN
        (
            SELECT
                rank,
                step,
                program_id
            FROM tap.steps
            WHERE run_id = xxh3(concat({run:String}, char(31)))
        ) AS step_program ON step_program.rank = bad.rank AND step_program.step = bad.step
        LEFT ANY JOIN tap.programs AS program ON program.program_id = step_program.program_id AND program.op_id = site.op_id
    ),
    placed AS (
        SELECT
            rank,
            step,
            micro_step,
            seq,
            site_id,
            layout_id,
            measured,
            value_min,
            value_max,
            value_mean,
            value_l2,
            nan_count,
            positive_infinity_count,
            negative_infinity_count,
            excused,
            op_id,
            parent_op_id,
            role,
            path,
            is_mark,
            if(op_id = 0, site_id, op_id) AS op_key,
            countIf(NOT excused AND NOT is_output AND NOT is_mark) OVER (PARTITION BY rank, step, micro_step, op_key) AS bad_input_count,
            countIf(NOT excused AND is_output AND NOT is_mark) OVER (PARTITION BY rank, step, micro_step, op_key) AS bad_output_count,
            max(is_mark) OVER (PARTITION BY rank, step, op_key) AS is_around
        FROM marked
    ),
    -- Calls of collectives that some rank gave something bad, which may be a rank that was not asked for.
    met AS (
        SELECT
            meeting.rank AS rank,
            meeting.step AS step,
            meeting.op_id AS op_id,
            max(giver.bad) OVER (PARTITION BY meeting.meeting) AS found
        FROM tap.meetings(run = {run:String}, first_step = {first_step:Int64}, last_step = {last_step:Int64}) AS meeting
        LEFT ANY JOIN
        (
            SELECT DISTINCT
                bad.rank AS rank,
                bad.step AS step,
                site.op_id AS op_id,
                1 AS bad
            FROM tap.overflows(run = {run:String}, rank = -1, first_step = {first_step:Int64}, last_step = {last_step:Int64}) AS bad
            INNER JOIN tap.sites AS site ON site.site_id = bad.site_id
            WHERE NOT bad.excused AND site.role != 'output'
        ) AS giver ON giver.rank = meeting.rank AND giver.step = meeting.step AND giver.op_id = meeting.op_id
        WHERE meeting.api != 'end of backward'
    )
SELECT
    placed.rank AS rank,
    placed.step AS step,
    placed.seq AS position,
    multiIf(op.name != '', op.name, placed.op_id != 0, leftPad(lower(hex(placed.op_id)), 16, '0'), leftPad(lower(hex(placed.site_id)), 16, '0')) AS op,
    if(op.module_path != '', op.module_path, parent.module_path) AS module,
    placed.role AS role,
    placed.path AS path,
    multiIf(
        placed.op_id = 0, 'unknown',
        placed.excused, 'known exception',
        layout.kind NOT IN ('tensor', ''), 'argument',
        placed.role = 'parameter', 'parameter',
        op.phase = 'gradient', 'gradient',
        bad_input_count > 0 AND bad_output_count > 0, 'passed on',
        bad_input_count > 0, 'input only',
        placed.is_around OR met.found = 1, 'passed on',
        'origin') AS verdict,
    layout.dtype AS dtype,
    layout.shape AS shape,
    if(bitTest(placed.measured, 0), toNullable(placed.value_min), NULL) AS value_min,
    if(bitTest(placed.measured, 1), toNullable(placed.value_max), NULL) AS value_max,
    if(bitTest(placed.measured, 2), toNullable(placed.value_mean), NULL) AS value_mean,
    if(bitTest(placed.measured, 4), toNullable(placed.value_l2), NULL) AS value_l2,
    if(bitTest(placed.measured, 6), toNullable(placed.nan_count), NULL) AS nan_count,
    if(bitTest(placed.measured, 7), toNullable(placed.positive_infinity_count), NULL) AS positive_infinity_count,
    if(bitTest(placed.measured, 8), toNullable(placed.negative_infinity_count), NULL) AS negative_infinity_count
FROM placed
LEFT ANY JOIN tap.ops AS op ON op.op_id = placed.op_id
LEFT ANY JOIN tap.ops AS parent ON parent.op_id = placed.parent_op_id
LEFT ANY JOIN tap.layouts AS layout ON layout.layout_id = placed.layout_id
LEFT ANY JOIN met ON met.rank = placed.rank AND met.step = placed.step AND met.op_id = placed.op_id
WHERE NOT placed.is_mark AND NOT (placed.excused AND {exceptions:Int64} = 0)
ORDER BY
    step,
    position,
    rank,
    placed.micro_step,
    placed.site_id
LIMIT {limit:UInt64}
