-- Question: to which op, module and layer does each tensor of a run belong?
-- Grain: one row per site that is defined
-- Reads: tap.sites, tap.ops, tap.programs, tap.steps
-- Empty when: nothing was published
-- Parameter run: name of the run.
-- An op that is no module belongs to the one that it ran in; where programs of the run differ in that, to that of one.
-- A layer of -1 is: outside of the layers.
WITH parents AS (
    SELECT
        op_id,
        argMin(parent_op_id, (program_id, position)) AS parent_op_id
    FROM tap.programs
    WHERE program_id IN (
        SELECT program_id
        FROM tap.steps
        WHERE run_id = xxh3(concat({run:String}, char(31)))
    )
    GROUP BY op_id
)
SELECT
    site.site_id AS site_id,
    site.op_id AS op_id,
    site.role AS role,
    site.path AS path,
    op.name AS op,
    op.phase AS phase,
    if(op.module_path != '', op.module_path, module.module_path) AS module_path,
    if(op.module_path != '' OR module.name = '', if(op.name = '', -1, op.layer_index), module.layer_index) AS layer_index
FROM tap.sites AS site
LEFT ANY JOIN tap.ops AS op ON op.op_id = site.op_id
LEFT ANY JOIN parents ON parents.op_id = site.op_id
LEFT ANY JOIN tap.ops AS module ON module.op_id = parents.parent_op_id
