-- Question: in which float dtypes did the modules of a run give their outputs?
-- Grain: one row per module
-- Reads: tap_store.tensor, tap_store.site, tap_store.op, tap_store.layout
-- Empty when: the run has no rows of modules
-- Parameter run: name of the run.
SELECT
    module_path,
    groupUniqArray(layouts.dtype) AS dtypes
FROM
(
    SELECT
        site_id,
        layout_id
    FROM tap_store.tensor
    WHERE run_id = xxh3(concat({run:String}, char(31)))
    GROUP BY
        site_id,
        layout_id
) AS seen
INNER JOIN (
    SELECT DISTINCT
        site_id,
        op_id
    FROM tap_store.site
    WHERE role = 'output'
) AS sites ON sites.site_id = seen.site_id
INNER JOIN (
    SELECT DISTINCT
        op_id,
        module_path
    FROM tap_store.op
    WHERE level = 'module' AND phase = 'forward'
) AS ops ON ops.op_id = sites.op_id
INNER JOIN (
    SELECT DISTINCT
        layout_id,
        dtype
    FROM tap_store.layout
    WHERE kind = 'tensor' AND match(dtype, '(?i)float|half|double')
) AS layouts ON layouts.layout_id = seen.layout_id
GROUP BY module_path
