-- Question: which float dtype do most recorded tensors of a run have?
-- Grain: one row per run that recorded float tensors
-- Reads: tap_store.tensor, tap_store.layout
-- Empty when: no float tensor was recorded
-- ANY: a layout is stored once per run that published it, until the database merges the copies.
SELECT
    counted.run_id AS run_id,
    argMax(counted.dtype, (counted.row_count, counted.dtype)) AS dtype
FROM
(
    SELECT
        run_id,
        dtype,
        sum(per_layout.row_count) AS row_count
    FROM
    (
        SELECT
            run_id,
            layout_id,
            count() AS row_count
        FROM tap_store.tensor
        GROUP BY
            run_id,
            layout_id
    ) AS per_layout
    LEFT ANY JOIN tap_store.layout AS named ON named.layout_id = per_layout.layout_id
    WHERE named.kind = 'tensor' AND match(named.dtype, '(?i)float|half|double')
    GROUP BY
        run_id,
        dtype
) AS counted
GROUP BY run_id
