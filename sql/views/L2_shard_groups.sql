-- Question: which ranks of a run hold parts of the same tensors?
-- Grain: one row per rank that ended a step; the leader of its group is the least rank of that
-- Reads: tap.ranks, tap.steps
-- Empty when: no step has ended
-- Parameter run: name of the run.
-- Parameter whole_world = 0: 1 to take all ranks for one group where their coordinates are not known; else each is alone.
-- Ranks are in one group when they differ by their tensor-parallel coordinate alone. Where an axis that would tell them
-- apart is not known, the first of each coordinate are one group, the second the next, and so on.
WITH
    placed AS (
        SELECT
            seen.rank AS rank,
            if(place.tp_size > 0, toInt64(place.tp_size), -1) AS known_size,
            place.tp AS tp,
            (place.pp, place.dp, place.cp) AS others,
            row_number() OVER (PARTITION BY known_size, tp, others ORDER BY rank) AS ordinal
        FROM
        (
            SELECT DISTINCT rank
            FROM tap.steps
            WHERE run_id = xxh3(concat({run:String}, char(31)))
        ) AS seen
        LEFT ANY JOIN
        (
            SELECT
                rank,
                tp,
                pp,
                dp,
                cp,
                tp_size
            FROM tap.ranks
            WHERE run_id = xxh3(concat({run:String}, char(31)))
        ) AS place ON place.rank = seen.rank
    ),
    grouped AS (
        SELECT
            rank,
            known_size,
            multiIf(
                known_size > 0, (others, toInt64(ordinal)),
                {whole_world:UInt8} = 1, (others, 0),
                (others, -1 - toInt64(rank))) AS group_key
        FROM placed
    )
SELECT
    rank,
    min(rank) OVER (PARTITION BY group_key) AS leader,
    -- A rank that died before its first step was one of the group, too.
    toUInt32(greatest(known_size, toInt64(count() OVER (PARTITION BY group_key)))) AS group_size,
    known_size > 0 AS size_known
FROM grouped
