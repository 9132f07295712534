-- Question: which op gave each tensor that the ops of a module took?
-- Grain: one row per tensor that an op in the module took, and per output of a module in it
-- Reads: tap.observations, tap.steps, tap.programs, tap.sites, tap.layouts, tap_store.op
-- Empty when: the step has not ended, or no tensor of the module was measured
-- Shown: op, role, path, dtype, shape, from_op, from_path
-- Parameter run: name of the run.
-- Parameter module = '': path of a module; empty for the whole model.
-- Parameter rank = 0: rank of the run.
-- Parameter step = 0: step of the run.
-- Parameter limit = 100000: greatest number of rows.
-- Nothing records which op hands a tensor to which. It is taken for the latest op before it that gave as many elements of the same dtype, with the same digest, or
-- statistics where no digest was taken, and whose result is seen there: one of the same module or of one around it, or a module that was called there. from_op is
-- empty where there is none. An op belongs to the module that called it, at most two calls up.
WITH
    parents AS (
        SELECT
            op_id,
            any(parent_op_id) AS parent_op_id
        FROM tap.programs
        WHERE program_id IN (
            SELECT program_id
            FROM tap.steps
            WHERE run_id = xxh3(concat({run:String}, char(31))) AND rank = {rank:Int64} AND step = {step:Int64}
        )
        GROUP BY op_id
    ),
    ops AS (
        SELECT
            of_step.op_id AS op_id,
            op.name AS name,
            op.level = 'module' AS is_module,
            multiIf(parent.module_path != '', parent.module_path, grandparent.module_path) AS caller,
            if(op.module_path != '', op.module_path, caller) AS module
        FROM parents AS of_step
        LEFT ANY JOIN parents AS above ON above.op_id = of_step.parent_op_id
        LEFT ANY JOIN tap_store.op AS op ON op.op_id = of_step.op_id
        LEFT ANY JOIN tap_store.op AS parent ON parent.op_id = of_step.parent_op_id
        LEFT ANY JOIN tap_store.op AS grandparent ON grandparent.op_id = above.parent_op_id
    ),
    -- What a tensor is known by; bits below the sixteenth say that something was measured.
    seen AS (
        SELECT
            o.seq AS seq,
            site.op_id AS op_id,
            site.role AS role,
            site.path AS path,
            layout.dtype AS dtype,
            layout.shape AS shape,
            if(
                o.digest_kind != 0,
                cityHash64(layout.dtype, o.element_count, o.digest_kind, o.digest),
                cityHash64(layout.dtype, o.element_count, o.measured, o.value_min, o.value_max, o.value_mean, o.value_l2)) AS content
        FROM tap.observations(run = {run:String}, rank = {rank:Int64}, first_step = {step:Int64}, last_step = {step:Int64}) AS o
        INNER JOIN tap.sites AS site ON site.site_id = o.site_id
        INNER JOIN tap.layouts AS layout ON layout.layout_id = o.layout_id
        WHERE layout.kind = 'tensor' AND o.element_count > 0 AND (o.digest_kind != 0 OR bitAnd(o.measured, 65535) != 0)
    ),
    given AS (
        SELECT
            content,
            caller AS scope,
            seq,
            ops.name AS op,
            path
        FROM seen
        INNER JOIN ops ON ops.op_id = seen.op_id
        WHERE role = 'output'
    ),
    taken AS (
        SELECT
            content,
            seq,
            ops.name AS op,
            ops.module AS module,
            role,
            path,
            dtype,
            shape,
            splitByChar('.', if(is_module AND role != 'output', caller, ops.module)) AS parts,
            arrayJoin(arrayConcat([''], arrayMap(n -> arrayStringConcat(arraySlice(parts, 1, n), '.'), range(1, length(parts) + 1)))) AS scope
        FROM seen
        INNER JOIN ops ON ops.op_id = seen.op_id
        WHERE (role IN ('input', 'kwarg') OR (role = 'output' AND is_module))
            AND ({module:String} = '' OR ops.module = {module:String} OR startsWith(ops.module, concat({module:String}, '.')))
    )
SELECT
    taken.op AS op,
    any(taken.module) AS module,
    taken.role AS role,
    taken.path AS path,
    any(taken.dtype) AS dtype,
    any(taken.shape) AS shape,
    argMax(given.op, given.seq) AS from_op,
    argMax(given.path, given.seq) AS from_path
FROM taken
ASOF LEFT JOIN given ON given.content = taken.content AND given.scope = taken.scope AND given.seq < taken.seq
GROUP BY
    taken.seq,
    op,
    role,
    path
ORDER BY
    taken.seq,
    op,
    role,
    path
LIMIT {limit:UInt64}
