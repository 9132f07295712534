-- Question: which ops of two runs have a name, or a module, like this one?
-- Grain: one row per op, the best match first
-- Reads: tap.ops, tap.sites, tap.programs, tap.steps, tap_store.tensor
-- Empty when: neither run has an op
-- Parameter problem: name of the run under suspicion.
-- Parameter bench: name of the run it is held against.
-- Parameter name: name of an op, path of a module, or part of one.
-- Parameter limit = 20: greatest number of rows.
-- An op whose step has not ended is in no program yet, one without tensors and arguments has no site.
WITH
    ids AS (
        SELECT
            op_id,
            max(of_problem) AS in_problem,
            max(of_bench) AS in_bench
        FROM
        (
            SELECT
                sites.op_id AS op_id,
                run_id = xxh3(concat({problem:String}, char(31))) AS of_problem,
                run_id = xxh3(concat({bench:String}, char(31))) AS of_bench
            FROM
            (
                SELECT DISTINCT
                    run_id,
                    site_id
                FROM tap_store.tensor
                WHERE run_id IN (xxh3(concat({problem:String}, char(31))), xxh3(concat({bench:String}, char(31))))
            ) AS observed
            INNER JOIN tap.sites AS sites ON sites.site_id = observed.site_id
            UNION ALL
            SELECT
                programs.op_id AS op_id,
                run_id = xxh3(concat({problem:String}, char(31))) AS of_problem,
                run_id = xxh3(concat({bench:String}, char(31))) AS of_bench
            FROM
            (
                SELECT DISTINCT
                    run_id,
                    program_id
                FROM tap.steps
                WHERE run_id IN (xxh3(concat({problem:String}, char(31))), xxh3(concat({bench:String}, char(31))))
            ) AS ran
            INNER JOIN tap.programs AS programs ON programs.program_id = ran.program_id
        )
        GROUP BY op_id
    )
SELECT
    ops.name AS op,
    ops.module_path AS module,
    ops.level AS level,
    ops.phase AS phase,
    ids.in_problem = 1 AS in_problem,
    ids.in_bench = 1 AS in_bench,
    multiIf(
        ops.name = {name:String}, 'name',
        ops.module_path != '' AND (ops.module_path = {name:String} OR endsWith(ops.module_path, concat('.', {name:String}))), 'module',
        positionCaseInsensitive(ops.name, {name:String}) > 0, 'part',
        'near') AS matched_by,
    count() OVER (PARTITION BY matched_by) AS alike_count,
    uniqExact(ops.module_path) OVER (PARTITION BY matched_by) AS alike_module_count,
    ngramDistanceCaseInsensitive(substring(ops.name, 1, 1000), {name:String}) AS distance
FROM tap.ops AS ops
INNER JOIN ids ON ids.op_id = ops.op_id
WHERE ops.name != ''
ORDER BY
    indexOf(['name', 'module', 'part', 'near'], matched_by),
    in_problem DESC,
    if(matched_by = 'near', distance, 0),
    phase != 'forward',
    ops.call_index,
    op
LIMIT {limit:UInt64}
