-- Question: which row of the bench run does msProbe hold against each row of the problem run, and how far apart are they?
-- Grain: one row per rank, step, tensor or other argument of an op of the problem run
-- Reads: tap_store.step, tap.msprobe_rows, tap.payload_errors
-- Empty when: the runs have no step of a rank in common
-- Parameter problem: name of the run under suspicion.
-- Parameter bench: name of the run it is held against.
-- Parameter rank = -1: only this rank of the problem; -1 for all.
-- Parameter first_step = 0: first step of the problem.
-- Parameter last_step = -1: last step of the problem; -1 for all.
-- Parameter step_offset = 0: what is added to a step of the problem for that of the bench.
-- The pairing is msProbe's: ranks in the order of their numbers, rows by their names; a bench row of another kind of dtype
-- counts as none. Two statistics are the same (0) if Python prints the same of them, else their difference is a number, or
-- null where msProbe says N/A or Diff. A relative error against zero is infinite.
WITH
    (
        SELECT arraySort(groupUniqArray(rank))
        FROM tap_store.step
        WHERE run_id = xxh3(concat({problem:String}, char(31)))
    ) AS problem_ranks,
    (
        SELECT arraySort(groupUniqArray(rank))
        FROM tap_store.step
        WHERE run_id = xxh3(concat({bench:String}, char(31)))
    ) AS bench_ranks,
    matched AS (
        SELECT
            p.rank AS rank,
            p.bench_rank AS bench_rank,
            p.step AS step,
            p.seq AS seq,
            p.op_id AS op_id,
            p.op AS op,
            p.site_id AS site_id,
            p.role AS role,
            p.path AS path,
            p.name AS name,
            p.layout_id AS problem_layout_id,
            p.dtype_text AS problem_dtype,
            p.shape_text AS problem_shape,
            p.requires_grad_text AS problem_requires_grad,
            p.value_text AS problem_value,
            p.checksum AS problem_checksum,
            p.statistics AS problem_statistics,
            ['torch.float16', 'torch.float32', 'torch.float64', 'torch.bfloat16'] AS torch_floats,
            ['Float16', 'Float32', 'Float64', 'BFloat16'] AS mindspore_floats,
            b.present AND (p.dtype_text = b.dtype_text
                OR has(torch_floats, p.dtype_text) AND has(torch_floats, b.dtype_text)
                OR has(mindspore_floats, p.dtype_text) AND has(mindspore_floats, b.dtype_text)) AS paired,
            if(paired, b.op, '') AS bench_op,
            if(paired, b.site_id, 0) AS bench_site_id,
            if(paired, b.name, 'N/A') AS bench_name,
            if(paired, b.layout_id, 0) AS bench_layout_id,
            if(paired, b.dtype_text, 'N/A') AS bench_dtype,
            if(paired, b.shape_text, 'N/A') AS bench_shape,
            if(paired, b.requires_grad_text, 'N/A') AS bench_requires_grad,
            if(paired, b.value_text, '') AS bench_value,
            if(paired, b.checksum, 'N/A') AS bench_checksum,
            if(paired, b.statistics, arrayWithConstant(4, toFloat64OrNull(''))) AS bench_statistics
        FROM
        (
            SELECT
                rank,
                toUInt32(if(length(problem_ranks) = length(bench_ranks), bench_ranks[indexOf(problem_ranks, rank)], rank)) AS bench_rank,
                step,
                toInt64(step) + {step_offset:Int64} AS bench_step,
                seq,
                op_id,
                op,
                site_id,
                role,
                path,
                name,
                row_key,
                layout_id,
                dtype_text,
                shape_text,
                requires_grad_text,
                value_text,
                checksum,
                statistics
            FROM tap.msprobe_rows(run = {problem:String}, rank = {rank:Int64}, first_step = {first_step:Int64}, last_step = {last_step:Int64})
            WHERE (bench_rank, bench_step) IN (
                SELECT
                    rank,
                    toInt64(step)
                FROM tap_store.step
                WHERE run_id = xxh3(concat({bench:String}, char(31)))
            )
        ) AS p
        LEFT ANY JOIN
        (
            SELECT
                rank,
                toInt64(step) AS step_number,
                op,
                site_id,
                name,
                row_key,
                layout_id,
                dtype_text,
                shape_text,
                requires_grad_text,
                value_text,
                checksum,
                statistics,
                true AS present
            FROM tap.msprobe_rows(run = {bench:String}, rank = -1, first_step = 0, last_step = -1)
            WHERE step_number >= {first_step:Int64} + {step_offset:Int64}
                AND ({last_step:Int64} = -1 OR step_number <= {last_step:Int64} + {step_offset:Int64})
        ) AS b ON b.rank = p.bench_rank AND b.step_number = p.bench_step AND b.row_key = p.row_key
    ),
    problem_value != '' OR bench_value != '' AS are_words,
    arrayMap((n, b) -> if(are_words, problem_value = bench_value,
        ifNull(reinterpretAsUInt64(n) = reinterpretAsUInt64(b) OR isNaN(n) AND isNaN(b), n IS NULL AND b IS NULL)),
        problem_statistics, bench_statistics) AS same
SELECT
    m.rank AS rank,
    bench_rank,
    m.step AS step,
    seq,
    op_id,
    op,
    site_id,
    role,
    path,
    name,
    paired,
    bench_op,
    m.bench_site_id AS bench_site_id,
    bench_name,
    problem_layout_id,
    bench_layout_id,
    problem_dtype,
    bench_dtype,
    problem_shape,
    bench_shape,
    problem_requires_grad,
    bench_requires_grad,
    problem_value,
    bench_value,
    problem_checksum,
    bench_checksum,
    problem_statistics,
    bench_statistics,
    arrayMap((n, b, s) -> multiIf(NOT paired, NULL, s, 0., problem_dtype = 'torch.bool', NULL, n - b), problem_statistics, bench_statistics, same) AS differences,
    arrayMap((n, b, s) -> multiIf(
        NOT paired, NULL,
        s, 0.,
        problem_dtype = 'torch.bool', NULL,
        NOT isFinite(n) OR NOT isFinite(b), n - b,
        b = 0, inf,
        abs((n - b) / b * 100) / 100), problem_statistics, bench_statistics, same) AS relative_errors,
    e.present AS compared,
    if(compared, e.cosine, NULL) AS cosine,
    if(compared, e.l2_distance, NULL) AS l2_distance,
    if(compared, e.max_absolute, NULL) AS max_absolute,
    if(compared, e.max_relative, NULL) AS max_relative,
    if(compared, e.thousandth_ratio, NULL) AS thousandth_ratio,
    if(compared, e.five_thousandth_ratio, NULL) AS five_thousandth_ratio,
    e.message AS payload_message
FROM matched AS m
LEFT ANY JOIN
(
    SELECT
        rank,
        step,
        problem_site_id,
        bench_site_id,
        cosine,
        l2_distance,
        max_absolute,
        max_relative,
        thousandth_ratio,
        five_thousandth_ratio,
        message,
        true AS present
    FROM tap.payload_errors
    WHERE problem_run_id = xxh3(concat({problem:String}, char(31))) AND bench_run_id = xxh3(concat({bench:String}, char(31)))
) AS e ON e.rank = m.rank AND e.step = m.step AND e.problem_site_id = m.site_id AND e.bench_site_id = m.bench_site_id
