-- Question: where in one run did NaN or infinity begin, over all ranks?
-- Grain: one row per rank whose first tensor that is not finite comes after no other rank's, at the first such step
-- Reads: tap.overflows, tap.preceded_ranks, tap.observations, tap.sites, tap.ops, tap.layouts, tap.steps, tap.programs, tap.program_stacks, tap.stacks, tap_store.step
-- Empty when: everything is finite but for known exceptions
-- Shown: rank, step, op, module, role, path, kind, dtype, shape, not_finite_count
-- Parameter run: name of the run.
-- Parameter rank = -1: only this rank; -1 for all.
-- Parameter first_step = 0: first step.
-- Parameter last_step = -1: last step; -1 for all.
-- Kinds: a literal is argument; a parameter, or an input with the layout and statistics of one of the calling module's,
-- is parameter; another input data; what an op gives although all that it took is finite is computed. Several rows are
-- concurrent: nothing recorded tells which was first.
WITH
    (
        SELECT groupArray((rank, earliest.1, earliest.2, earliest.3, earliest.4, earliest.5, earliest.6, earliest.7, not_finite_count))
        FROM
        (
            SELECT
                rank,
                argMin(
                    (toInt64(step), seq, site_id, layout_id, measured, (value_min, value_max, value_mean, value_l2), (nan_count, positive_infinity_count, negative_infinity_count)),
                    (step, seq, micro_step)) AS earliest,
                count() AS not_finite_count
            FROM tap.overflows(run = {run:String}, rank = {rank:Int64}, first_step = {first_step:Int64}, last_step = {last_step:Int64})
            WHERE NOT excused
            GROUP BY rank
        )
    ) AS all_firsts,
    (
        SELECT arrayMin(arrayMap(first -> first.2, all_firsts))
    ) AS origin_step,
    arrayFilter(first -> first.2 = origin_step, all_firsts) AS firsts,
    (
        SELECT arrayStringConcat(arrayMap(first -> concat(toString(first.1), ':', toString(least(first.3, 4611686018427387903))), firsts), ' ')
    ) AS origin_events,
    (
        SELECT groupArray(rank)
        FROM tap.preceded_ranks(run = {run:String}, step = origin_step, events = origin_events)
    ) AS preceded,
    -- Those that another precedes are left out at the end only.
    shown AS (
        SELECT
            first.1 AS rank,
            first.2 AS step,
            first.3 AS seq,
            first.4 AS site_id,
            first.5 AS layout_id,
            first.6 AS measured,
            first.7 AS values,
            tupleElement(values, 1) AS value_min,
            tupleElement(values, 2) AS value_max,
            tupleElement(values, 3) AS value_mean,
            tupleElement(values, 4) AS value_l2,
            first.8 AS counts,
            tupleElement(counts, 1) AS nan_count,
            tupleElement(counts, 2) AS positive_infinity_count,
            tupleElement(counts, 3) AS negative_infinity_count,
            first.9 AS not_finite_count
        FROM
        (
            SELECT arrayJoin(firsts) AS first
        )
    ),
    -- What the rows are of is looked up once, and only where they are.
    (
        SELECT groupArray((rank, op_id, role, path, parent_op_id, program_id, position))
        FROM
        (
            SELECT
                shown.rank AS rank,
                site.op_id AS op_id,
                site.role AS role,
                site.path AS path,
                program.parent_op_id AS parent_op_id,
                program.program_id AS program_id,
                program.position AS position
            FROM shown
            INNER JOIN
            (
                SELECT
                    site_id,
                    op_id,
                    role,
                    path
                FROM tap.sites
                WHERE site_id IN (
                    SELECT site_id
                    FROM shown
                )
            ) AS site ON site.site_id = shown.site_id
            LEFT ANY JOIN
            (
                SELECT
                    rank,
                    step,
                    program_id
                FROM tap.steps
                WHERE run_id = xxh3(concat({run:String}, char(31))) AND step = origin_step
            ) AS shown_step ON shown_step.rank = shown.rank
            LEFT ANY JOIN
            (
                SELECT
                    program_id,
                    op_id,
                    parent_op_id,
                    position
                FROM tap.programs
                WHERE program_id IN (
                    SELECT program_id
                    FROM tap_store.step
                    WHERE run_id = xxh3(concat({run:String}, char(31))) AND step = origin_step
                )
            ) AS program ON program.program_id = shown_step.program_id AND program.op_id = site.op_id
        )
    ) AS calls,
    called AS (
        SELECT
            call.1 AS rank,
            call.2 AS op_id,
            call.3 AS role,
            call.4 AS path,
            call.5 AS parent_op_id,
            call.6 AS program_id,
            call.7 AS position
        FROM
        (
            SELECT arrayJoin(calls) AS call
        )
    ),
    module_parameters AS (
        SELECT
            parameter.rank AS rank,
            site.op_id AS module_op_id,
            site.path AS path,
            parameter.layout_id AS layout_id,
            toString((parameter.value_min, parameter.value_max, parameter.value_mean, parameter.value_l2)) AS signature
        FROM tap.observations(run = {run:String}, rank = {rank:Int64}, first_step = {first_step:Int64}, last_step = {last_step:Int64}) AS parameter
        INNER JOIN tap.sites AS site ON site.site_id = parameter.site_id
        WHERE parameter.step = origin_step AND parameter.site_id IN (
            SELECT site_id
            FROM tap.sites
            WHERE role = 'parameter' AND op_id IN (
                SELECT parent_op_id
                FROM called
            )
        )
    ),
    frames AS (
        SELECT
            program_stacks.program_id AS program_id,
            program_stacks.position AS position,
            stacks.user_frame AS frame
        FROM tap.program_stacks
        INNER JOIN tap.stacks ON stacks.stack_id = program_stacks.stack_id
        WHERE program_stacks.run_id = xxh3(concat({run:String}, char(31)))
            AND (program_stacks.program_id, program_stacks.position) IN (
                SELECT
                    program_id,
                    position
                FROM called
            )
    )
SELECT
    shown.rank AS rank,
    shown.step AS step,
    shown.seq AS position,
    multiIf(op.name != '', op.name, called.op_id != 0, leftPad(lower(hex(called.op_id)), 16, '0'), leftPad(lower(hex(shown.site_id)), 16, '0')) AS op,
    multiIf(
        op.module_path != '', op.module_path,
        parent.module_path != '', parent.module_path,
        parent.name) AS module,
    called.role AS role,
    called.path AS path,
    multiIf(
        called.op_id = 0, 'unknown',
        layout.kind NOT IN ('tensor', ''), 'argument',
        called.role = 'parameter' OR module_parameters.path != '', 'parameter',
        called.role IN ('output', 'parameter_gradient'), 'computed',
        'data') AS kind,
    module_parameters.path AS parameter,
    layout.dtype AS dtype,
    layout.shape AS shape,
    layout.literal AS literal,
    if(bitTest(shown.measured, 0), toNullable(shown.value_min), NULL) AS value_min,
    if(bitTest(shown.measured, 1), toNullable(shown.value_max), NULL) AS value_max,
    if(bitTest(shown.measured, 2), toNullable(shown.value_mean), NULL) AS value_mean,
    if(bitTest(shown.measured, 4), toNullable(shown.value_l2), NULL) AS value_l2,
    if(bitTest(shown.measured, 6), toNullable(shown.nan_count), NULL) AS nan_count,
    if(bitTest(shown.measured, 7), toNullable(shown.positive_infinity_count), NULL) AS positive_infinity_count,
    if(bitTest(shown.measured, 8), toNullable(shown.negative_infinity_count), NULL) AS negative_infinity_count,
    shown.not_finite_count AS not_finite_count,
    count() OVER () AS concurrent,
    frames.frame AS user_frame
FROM shown
LEFT ANY JOIN called ON called.rank = shown.rank
LEFT ANY JOIN tap.ops AS op ON op.op_id = called.op_id
LEFT ANY JOIN tap.ops AS parent ON parent.op_id = called.parent_op_id
LEFT ANY JOIN tap.layouts AS layout ON layout.layout_id = shown.layout_id
LEFT ANY JOIN module_parameters ON module_parameters.rank = shown.rank
    AND module_parameters.module_op_id = called.parent_op_id
    AND module_parameters.layout_id = shown.layout_id
    AND module_parameters.signature = toString(shown.values)
LEFT ANY JOIN frames ON frames.program_id = called.program_id AND frames.position = called.position
-- Meetings that contradict each other leave all.
WHERE NOT has(preceded, shown.rank) OR length(preceded) = length(firsts)
ORDER BY
    position,
    rank
