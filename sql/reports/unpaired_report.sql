-- Question: what exists in one of the two runs only, and why is it without a partner?
-- Grain: one row per rank, step, op of one run only, or of which nothing can be said
-- Reads: tap.wanted_comparison, tap.kept_judgings, tap_store.verdict, tap_store.site, tap_store.op
-- Empty when: every tensor has a partner, and something can be said of each pair, or nothing was judged
-- Parameter problem: name of the run under suspicion.
-- Parameter bench: name of the run it is held against.
-- Parameter comparison = '': id of the comparison, of several; empty for the one that was asked for last.
-- Parameter rank = -1: only this rank of the problem; -1 for all.
-- Parameter first_step = 0: first step of the problem.
-- Parameter last_step = -1: last step of the problem; -1 for all.
-- Parameter limit = 100: greatest number of rows.
WITH
    (
        SELECT comparison_id
        FROM tap.wanted_comparison(problem = {problem:String}, bench = {bench:String}, comparison = {comparison:String})
    ) AS wanted_id,
    alone AS (
        SELECT
            v.rank AS rank,
            v.step AS step,
            site.op_id AS op_id,
            any(v.problem_present) AS in_problem,
            any(v.bench_present) AS in_bench,
            v.reason AS reason,
            min(v.seq) AS position,
            count() AS row_count,
            max(v.parent_op_id) AS parent_op_id
        FROM tap_store.verdict AS v
        LEFT ANY JOIN tap_store.site AS site ON site.site_id = v.site_id
        WHERE v.comparison_id = wanted_id
            AND ({rank:Int64} = -1 OR v.rank = {rank:Int64})
            AND v.step >= {first_step:Int64}
            AND ({last_step:Int64} = -1 OR v.step <= {last_step:Int64})
            AND (v.rank, v.step, v.epoch) IN (
                SELECT
                    rank,
                    step,
                    epoch
                FROM tap.kept_judgings
                WHERE comparison_id = wanted_id
            )
            AND v.verdict IN ('unpaired', 'unknown')
        GROUP BY
            rank,
            step,
            op_id,
            reason
    )
SELECT
    alone.rank AS rank,
    alone.step AS step,
    multiIf(alone.in_problem AND alone.in_bench, 'both', alone.in_problem, 'problem', 'bench') AS side,
    if(op.name = '', leftPad(lower(hex(alone.op_id)), 16, '0'), op.name) AS op,
    if(op.module_path = '', parent.module_path, op.module_path) AS module,
    alone.reason AS reason,
    alone.row_count AS row_count,
    alone.position AS position
FROM alone
LEFT ANY JOIN tap_store.op AS op ON op.op_id = alone.op_id
LEFT ANY JOIN tap_store.op AS parent ON parent.op_id = alone.parent_op_id
ORDER BY
    step,
    rank,
    position,
    op,
    reason,
    side
LIMIT {limit:UInt64}
