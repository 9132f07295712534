-- Question: what ran in one step of two runs, op beside op, and what came of each?
-- Grain: one row per op of either run, in the order that merges both
-- Reads: tap.wanted_comparison, tap.judged_steps, tap.kept_judgings, tap_store.verdict, tap_store.site, tap_store.op, tap_store.layout, tap.programs, tap.alignments, tap_store.tensor
-- Empty when: nothing was judged, or the step has not ended in either run
-- Empty because: absent_step
-- Shown: position, problem_op, bench_op, module, verdict, differing_count, error, tolerance, dtype
-- Parameter problem: name of the run under suspicion.
-- Parameter bench: name of the run it is held against.
-- Parameter comparison = '': id of the comparison, of several; empty for the one that was asked for last.
-- Parameter rank = -1: rank of the problem; -1 for the first that differs.
-- Parameter step = -1: step of the problem; -1 for the first that differs.
-- Parameter limit = 1000000: greatest number of rows.
-- The verdict of an op is the worst of its tensors and other arguments: not_finite, diverged, structure, only_problem,
-- only_bench or unknown; same where nothing of it differs. The position of its parent, the module or op that called it, is null where that is not known.
WITH
    (
        SELECT comparison_id
        FROM tap.wanted_comparison(problem = {problem:String}, bench = {bench:String}, comparison = {comparison:String})
    ) AS wanted_id,
    (
        SELECT argMin((rank, step, bench_rank, bench_step, problem_program_id, bench_program_id), (differing_count = 0, step, rank))
        FROM tap.judged_steps
        WHERE comparison_id = wanted_id
            AND ({rank:Int64} = -1 OR rank = {rank:Int64})
            AND ({step:Int64} = -1 OR step = {step:Int64})
    ) AS place,
    tupleElement(place, 5) AS problem_program,
    tupleElement(place, 6) AS bench_program,
    parents AS (
        SELECT
            program_id = problem_program AS of_problem,
            op_id,
            any(parent_op_id) AS parent_op_id
        FROM tap.programs
        WHERE program_id IN (problem_program, bench_program)
        GROUP BY
            of_problem,
            op_id
    ),
    beside AS (
        SELECT
            position,
            op_id AS problem_op_id,
            op_id AS bench_op_id,
            toNullable(position) AS problem_position,
            toNullable(position) AS bench_position,
            'id' AS paired_by
        FROM tap.programs
        WHERE problem_program = bench_program AND program_id = problem_program
        UNION ALL
        SELECT
            position,
            problem_op_id,
            bench_op_id,
            problem_position,
            bench_position,
            reason AS paired_by
        FROM tap.alignments
        WHERE problem_program != bench_program AND problem_program_id = problem_program AND bench_program_id = bench_program
    ),
    places AS (
        SELECT
            problem_op_id != 0 AS of_problem,
            problem_op_id AS op_id,
            any(position) AS position
        FROM beside
        WHERE problem_op_id != 0
        GROUP BY op_id
        UNION ALL
        SELECT
            bench_op_id = 0 AS of_problem,
            bench_op_id AS op_id,
            any(position) AS position
        FROM beside
        WHERE bench_op_id != 0
        GROUP BY op_id
    ),
    noted AS (
        SELECT
            problem_present,
            site.op_id AS op_id,
            multiIf(
                countIf(differs AND verdict = 'not_finite') > 0, 'not_finite',
                countIf(differs AND verdict = 'diverged') > 0, 'diverged',
                countIf(differs) > 0, 'structure',
                countIf(verdict = 'unknown') > 0, 'unknown',
                countIf(verdict = 'unpaired') > 0, 'unpaired',
                'same') AS worst,
            countIf(differs) AS differing_count,
            argMaxIf(tuple(error, tolerance, evidence), if(isFinite(error), error, -1), error IS NOT NULL) AS greatest,
            max(user_frame) AS user_frame
        FROM tap_store.verdict AS v
        LEFT ANY JOIN tap_store.site AS site ON site.site_id = v.site_id
        WHERE v.comparison_id = wanted_id
            AND v.rank = tupleElement(place, 1)
            AND v.step = tupleElement(place, 2)
            AND v.epoch IN (
                SELECT epoch
                FROM tap.kept_judgings
                WHERE comparison_id = wanted_id AND rank = tupleElement(place, 1) AND step = tupleElement(place, 2)
            )
        GROUP BY
            problem_present,
            op_id
    ),
    dtypes AS (
        SELECT
            site.op_id AS op_id,
            arrayStringConcat(arraySort(groupUniqArrayIf(layout.dtype, layout.dtype != '')), ' ') AS dtype
        FROM tap_store.tensor AS seen
        INNER JOIN tap_store.site AS site ON site.site_id = seen.site_id
        INNER JOIN tap_store.layout AS layout ON layout.layout_id = seen.layout_id
        WHERE seen.run_id = xxh3(concat({problem:String}, char(31)))
            AND seen.rank = tupleElement(place, 1)
            AND seen.step = tupleElement(place, 2)
        GROUP BY op_id
    )
SELECT
    tupleElement(place, 1) AS rank,
    tupleElement(place, 2) AS step,
    tupleElement(place, 3) AS bench_rank,
    tupleElement(place, 4) AS bench_step,
    beside.position AS position,
    problem_position,
    bench_position,
    if(place_of_parent.op_id = 0, NULL, toNullable(place_of_parent.position)) AS parent_position,
    problem_op.name AS problem_op,
    bench_op.name AS bench_op,
    op.level AS level,
    op.phase AS phase,
    multiIf(op.module_path != '', op.module_path, parent.module_path) AS module,
    multiIf(beside.problem_op_id = 0, 'only_bench', beside.bench_op_id = 0, 'only_problem', noted.worst = '', 'same', noted.worst) AS verdict,
    noted.differing_count AS differing_count,
    tupleElement(noted.greatest, 1) AS error,
    tupleElement(noted.greatest, 2) AS tolerance,
    tupleElement(noted.greatest, 3) AS evidence,
    paired_by,
    dtypes.dtype AS dtype,
    noted.user_frame AS user_frame
FROM beside
LEFT ANY JOIN noted ON noted.op_id = if(beside.problem_op_id = 0, beside.bench_op_id, beside.problem_op_id) AND noted.problem_present = (beside.problem_op_id != 0)
LEFT ANY JOIN dtypes ON dtypes.op_id = beside.problem_op_id
LEFT ANY JOIN tap_store.op AS problem_op ON problem_op.op_id = beside.problem_op_id
LEFT ANY JOIN tap_store.op AS bench_op ON bench_op.op_id = beside.bench_op_id
LEFT ANY JOIN tap_store.op AS op ON op.op_id = if(beside.problem_op_id = 0, beside.bench_op_id, beside.problem_op_id)
LEFT ANY JOIN parents ON parents.op_id = if(beside.problem_op_id = 0, beside.bench_op_id, beside.problem_op_id) AND parents.of_problem = (beside.problem_op_id != 0)
LEFT ANY JOIN places AS place_of_parent ON place_of_parent.op_id = parents.parent_op_id AND place_of_parent.of_problem = parents.of_problem
LEFT ANY JOIN tap_store.op AS parent ON parent.op_id = parents.parent_op_id
ORDER BY position
LIMIT {limit:UInt64}
