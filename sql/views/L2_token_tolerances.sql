-- Question: by how much may the log-probabilities of a right implementation of a run's model differ from those of another, in the mean?
-- Grain: one row per run whose dtype is known
-- Reads: tap.weights, tap.main_dtypes
-- Empty when: no run told of its weights or recorded tensors
SELECT
    run_id,
    if(countIf(dtype NOT IN ('float32', 'float64')) = 0, 1e-4, 2e-2) AS tolerance
FROM
(
    SELECT
        run_id,
        topK(1)(extract(description, '^[a-z0-9_]+'))[1] AS dtype
    FROM tap.weights
    GROUP BY run_id
    UNION ALL
    SELECT
        run_id,
        replaceOne(dtype, 'torch.', '') AS dtype
    FROM tap.main_dtypes
)
GROUP BY run_id
