-- Question: how was each op of the problem paired with one of the bench?
-- Grain: one row per pair of programs and op of either, in the order that merges both
-- Reads: tap.program_pairs, tap.alignments, tap.programs, tap.ops
-- Empty when: the runs have no step in common, or every op is paired and unpaired = 1
-- Parameter problem: name of the run under suspicion.
-- Parameter bench: name of the run it is held against.
-- Parameter rank = -1: only this rank of the problem; -1 for all.
-- Parameter first_step = 0: first step of the problem.
-- Parameter last_step = -1: last step of the problem; -1 for all.
-- Parameter step_offset = 0: what to add to a step of the problem for that of the bench.
-- Parameter unpaired = 0: 1 shows only ops that stand alone.
-- Parameter limit = 1000: greatest number of rows.
-- Steps and ranks that ran the same programs are told once, by the first of them. Where both ran one program, every op
-- is paired with itself. Reason not_aligned: nobody compared the programs yet, so nothing is known of the bench's.
WITH
    -- As one value it is computed once.
    (
        SELECT groupArray((problem_program_id, bench_program_id, place, step_count))
        FROM
        (
            SELECT
                problem_program_id,
                bench_program_id,
                min((step, rank)) AS place,
                count() AS step_count
            FROM tap.program_pairs(problem = {problem:String}, bench = {bench:String}, rank = {rank:Int64}, first_step = {first_step:Int64}, last_step = {last_step:Int64}, step_offset = {step_offset:Int64})
            GROUP BY
                problem_program_id,
                bench_program_id
        )
    ) AS program_pair_list,
    wanted AS (
        SELECT
            tupleElement(one_pair, 1) AS problem_program_id,
            tupleElement(one_pair, 2) AS bench_program_id,
            tupleElement(one_pair, 3) AS place,
            tupleElement(one_pair, 4) AS step_count
        FROM
        (
            SELECT arrayJoin(program_pair_list) AS one_pair
        )
    ),
    aligned AS (
        SELECT
            problem_program_id,
            bench_program_id,
            position,
            problem_op_id,
            bench_op_id,
            ifNull(problem_position, 0) AS problem_position,
            ifNull(bench_position, 0) AS bench_position,
            reason
        FROM tap.alignments
        WHERE (problem_program_id, bench_program_id) IN (
            SELECT
                problem_program_id,
                bench_program_id
            FROM wanted
        )
    ),
    known_programs AS (
        SELECT
            program_id,
            position,
            op_id,
            parent_op_id
        FROM tap.programs
        WHERE program_id IN (
            SELECT problem_program_id
            FROM wanted
            UNION ALL
            SELECT bench_program_id
            FROM wanted
        )
    ),
    paired AS (
        SELECT
            wanted.place AS place,
            wanted.step_count AS step_count,
            aligned.position AS position,
            wanted.problem_program_id AS problem_program_id,
            wanted.bench_program_id AS bench_program_id,
            aligned.problem_op_id AS problem_op_id,
            aligned.bench_op_id AS bench_op_id,
            aligned.problem_position AS problem_position,
            aligned.bench_position AS bench_position,
            aligned.reason AS reason
        FROM wanted
        INNER JOIN aligned ON aligned.problem_program_id = wanted.problem_program_id AND aligned.bench_program_id = wanted.bench_program_id
        UNION ALL
        SELECT
            wanted.place AS place,
            wanted.step_count AS step_count,
            own.position AS position,
            wanted.problem_program_id AS problem_program_id,
            wanted.bench_program_id AS bench_program_id,
            own.op_id AS problem_op_id,
            if(wanted.problem_program_id = wanted.bench_program_id, own.op_id, 0) AS bench_op_id,
            own.position AS problem_position,
            own.position AS bench_position,
            if(wanted.problem_program_id = wanted.bench_program_id, 'id', 'not_aligned') AS reason
        FROM wanted
        INNER JOIN known_programs AS own ON own.program_id = wanted.problem_program_id
        WHERE (wanted.problem_program_id, wanted.bench_program_id) NOT IN (
            SELECT
                problem_program_id,
                bench_program_id
            FROM aligned
        )
    )
SELECT
    tupleElement(paired.place, 1) AS step,
    tupleElement(paired.place, 2) AS rank,
    paired.step_count AS step_count,
    paired.position AS position,
    if(paired.problem_op_id = 0, '', if(p.name != '', p.name, leftPad(lower(hex(paired.problem_op_id)), 16, '0'))) AS problem_op,
    if(paired.bench_op_id = 0, '', if(b.name != '', b.name, leftPad(lower(hex(paired.bench_op_id)), 16, '0'))) AS bench_op,
    multiIf(
        p.module_path != '', p.module_path,
        problem_parent.module_path != '', problem_parent.module_path,
        problem_parent.name) AS problem_module,
    multiIf(
        b.module_path != '', b.module_path,
        bench_parent.module_path != '', bench_parent.module_path,
        bench_parent.name) AS bench_module,
    paired.reason AS reason
FROM paired
LEFT ANY JOIN tap.ops AS p ON p.op_id = paired.problem_op_id
LEFT ANY JOIN tap.ops AS b ON b.op_id = paired.bench_op_id
LEFT ANY JOIN known_programs AS problem_program ON problem_program.program_id = paired.problem_program_id AND problem_program.position = paired.problem_position AND problem_program.op_id = paired.problem_op_id
LEFT ANY JOIN known_programs AS bench_program ON bench_program.program_id = paired.bench_program_id AND bench_program.position = paired.bench_position AND bench_program.op_id = paired.bench_op_id
LEFT ANY JOIN tap.ops AS problem_parent ON problem_parent.op_id = problem_program.parent_op_id
LEFT ANY JOIN tap.ops AS bench_parent ON bench_parent.op_id = bench_program.parent_op_id
WHERE {unpaired:UInt8} = 0 OR paired.reason IN ('only_problem', 'only_bench', 'not_aligned')
ORDER BY
    step,
    rank,
    paired.problem_program_id,
    paired.bench_program_id,
    position
LIMIT {limit:UInt64}
