-- Question: in which order do the ranks of a run stand beside each other?
-- Grain: one row per rank
-- Reads: tap.ranks
-- Empty when: no rank of the run was published
-- Parameter run: name of the run.
-- Parameter order = rank: ranks by number (rank), or by their coordinate in groups first: tp, pp or dp.
-- Places count from 0. Ranks of one coordinate stand by their other coordinates.
SELECT
    rank,
    toUInt32(row_number() OVER (ORDER BY
        if({order:String} = 'rank', 0, if({order:String} = 'tp', tp, if({order:String} = 'pp', pp, dp))),
        if({order:String} = 'rank', 0, if({order:String} = 'pp', dp, pp)),
        if({order:String} = 'rank', 0, if({order:String} = 'tp', dp, tp)),
        if({order:String} = 'rank', 0, cp),
        rank) - 1) AS place
FROM tap.ranks
WHERE run_id = xxh3(concat({run:String}, char(31)))
    AND throwIf({order:String} NOT IN ('rank', 'tp', 'pp', 'dp'), 'there is no such order of ranks; there are: rank, tp, pp, dp') = 0
