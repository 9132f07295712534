-- Question: how far do the runs lie apart over ranks and steps, as a picture of so many rows and columns?
-- Grain: one row per row, column of the picture that was judged; ranks in the order asked for, then by step
-- Reads: tap.wanted_comparison, tap.judged_steps, tap.ordered_ranks
-- Empty when: nothing was judged at those ranks and steps
-- Parameter problem: name of the run under suspicion.
-- Parameter bench: name of the run it is held against.
-- Parameter comparison = '': id of the comparison, of several; empty for the one that was asked for last.
-- Parameter order = rank: ranks by number (rank), or by their coordinate in groups first: tp, pp or dp.
-- Parameter first_step = 0: first step of the problem.
-- Parameter last_step = -1: last step of the problem; -1 for all.
-- Parameter first_place = 0: first rank, as its place in the order.
-- Parameter last_place = -1: last rank, likewise; -1 for all.
-- Parameter width = 1000: greatest number of columns.
-- Parameter height = 500: greatest number of rows.
-- A row stands for rank_count ranks of the problem from the place on, of which rank is the first, and a column for
-- step_count steps from the step on. The value is the greatest finite error there; null where none is known.
WITH
    (
        SELECT throwIf({width:UInt64} = 0 OR {height:UInt64} = 0, 'a picture has a width and a height of 1 at least')
    ) + (
        SELECT throwIf({first_place:Int64} < 0 OR {last_place:Int64} < -1, 'a place is 0 or more; of the last, -1 is for all')
    ) AS fault_count,
    (
        SELECT comparison_id
        FROM tap.wanted_comparison(problem = {problem:String}, bench = {bench:String}, comparison = {comparison:String})
    ) AS wanted_id,
    (
        SELECT arraySlice(
            groupArray(rank),
            {first_place:Int64} + 1,
            if({last_place:Int64} = -1, 4294967295, greatest(0, {last_place:Int64} - {first_place:Int64} + 1)))
        FROM (
            SELECT rank
            FROM tap.ordered_ranks(run = {problem:String}, order = {order:String})
            ORDER BY place
        )
    ) AS ordered,
    judged AS (
        SELECT
            transform(rank, ordered, range(length(ordered)), 4294967295) AS place,
            step,
            paired_count,
            differing_count,
            not_finite_count,
            greatest_error
        FROM tap.judged_steps
        WHERE comparison_id = wanted_id
            AND step >= {first_step:Int64}
            AND ({last_step:Int64} = -1 OR step <= {last_step:Int64})
            AND has(ordered, rank)
    ),
    (
        SELECT (min(step), max(step))
        FROM judged
    ) AS reach,
    toUInt32(greatest(1, intDiv(length(ordered) + {height:UInt64} - 1, {height:UInt64}))) AS ranks_of_row,
    toUInt32(greatest(1, intDiv(reach.2 - reach.1 + {width:UInt64}, {width:UInt64}))) AS steps_of_column,
    pixels AS (
        SELECT
            intDiv(judged.place, ranks_of_row) AS row_index,
            intDiv(judged.step - reach.1, steps_of_column) AS column_index,
            max(greatest_error) AS value,
            sum(judged.paired_count) AS paired_count,
            sum(judged.differing_count) AS differing_count,
            sum(judged.not_finite_count) AS not_finite_count
        FROM judged
        WHERE fault_count = 0
        GROUP BY
            row_index,
            column_index
    )
SELECT
    toUInt32({first_place:Int64} + row_index * ranks_of_row) AS place,
    ordered[row_index * ranks_of_row + 1] AS rank,
    ranks_of_row AS rank_count,
    toUInt32(reach.1 + column_index * steps_of_column) AS step,
    steps_of_column AS step_count,
    value,
    paired_count,
    differing_count,
    not_finite_count
FROM pixels
ORDER BY
    place,
    step
