-- Question: which rank of the bench stands beside which rank of the problem?
-- Grain: one row per pair of ranks; a rank without partner has none, one of many replicas may be a partner twice
-- Reads: tap_store.rank, tap_store.step
-- Empty when: no rank of the one has a partner in the other
-- Parameter problem: name of the run under suspicion.
-- Parameter bench: name of the run it is held against.
-- Ranks pair by their coordinates where both runs know them, else by number. Where the data-parallel groups are of
-- different size, a rank pairs with a replica: its own coordinate modulo the smaller size.
WITH
    xxh3(concat({problem:String}, char(31))) AS problem_run_id,
    xxh3(concat({bench:String}, char(31))) AS bench_run_id,
    seen AS (
        SELECT
            run_id,
            rank,
            max((tp, pp, dp, cp, ep)) AS place,
            max(dp_size) AS replicas
        FROM tap_store.rank
        WHERE run_id IN (problem_run_id, bench_run_id)
        GROUP BY
            run_id,
            rank
        UNION ALL
        SELECT DISTINCT
            run_id,
            rank,
            (toInt16(-1), toInt16(-1), toInt16(-1), toInt16(-1), toInt16(-1)) AS place,
            toInt16(-1) AS replicas
        FROM tap_store.step
        WHERE run_id IN (problem_run_id, bench_run_id)
    ),
    placed AS (
        SELECT
            run_id,
            rank,
            max(seen.place) AS place,
            max(seen.replicas) AS replicas
        FROM seen
        GROUP BY
            run_id,
            rank
    ),
    (
        SELECT (
            uniqExactIf((placed.run_id, place), place != (-1, -1, -1, -1, -1)) = count(),
            greatest(1, least(maxIf(placed.replicas, placed.run_id = problem_run_id), maxIf(placed.replicas, placed.run_id = bench_run_id))))
        FROM placed
    ) AS worlds,
    worlds.1 AS places_known,
    worlds.2 AS common_replicas,
    keyed AS (
        SELECT
            run_id,
            rank,
            place,
            if(places_known, (place.1, place.2, if(place.3 < 0, place.3, place.3 % common_replicas), place.4, place.5), (toInt64(rank), 0, 0, 0, 0)) AS pair_key
        FROM placed
    )
SELECT
    p.rank AS problem_rank,
    b.rank AS bench_rank,
    multiIf(NOT places_known, 'number', p.place = b.place, 'coordinates', 'replica') AS reason
FROM
(
    SELECT
        rank,
        place,
        pair_key
    FROM keyed
    WHERE run_id = problem_run_id
) AS p
INNER JOIN
(
    SELECT
        pair_key,
        argMin(keyed.rank, keyed.place) AS rank,
        min(keyed.place) AS place
    FROM keyed
    WHERE run_id = bench_run_id
    GROUP BY pair_key
) AS b ON b.pair_key = p.pair_key
