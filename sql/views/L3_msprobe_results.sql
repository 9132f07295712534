-- Question: what does msProbe's own compare say about each row of the problem run?
-- Grain: one row per rank, step, tensor or other argument of an op of the problem run
-- Reads: tap_store.run, tap.msprobe_pairs
-- Empty when: the runs have no step of a rank in common
-- Parameter problem: name of the run under suspicion.
-- Parameter bench: name of the run it is held against.
-- Parameter rank = -1: only this rank of the problem; -1 for all.
-- Parameter first_step = 0: first step of the problem.
-- Parameter last_step = -1: last step of the problem; -1 for all.
-- Parameter step_offset = 0: what is added to a step of the problem for that of the bench.
-- The rules are msProbe's, and so are what they overlook: see docs/msprobe-parity.md. What only the bench has is left out.
-- Null: msProbe says N/A, Diff or unsupported there.
WITH
    (
        SELECT arraySort(groupUniqArray(task))
        FROM tap_store.run
        WHERE run_id IN (xxh3(concat({problem:String}, char(31))), xxh3(concat({bench:String}, char(31))))
    ) AS tasks,
    multiIf(tasks = ['tensor'], 'tensor', notEmpty(tasks) AND hasAll(['md5', 'xor'], tasks), 'md5', 'statistics') AS row_mode,
    judged AS (
        WITH
            -- A call is judged by its inputs, parameters among them, and its outputs. What is none of them is its input.
            position(name, '.output.') > 0 AS is_output,
            relative_errors[4] AS norm_error,
            if(isFinite(norm_error), assumeNotNull(norm_error), 0.) AS finite_norm_error,
            max(NOT is_output) OVER (PARTITION BY rank, step, op_id) AS has_input,
            min(if(is_output, seq, toUInt64(-1))) OVER (PARTITION BY rank, step, op_id) AS first_output,
            max(if(is_output, 0., finite_norm_error)) OVER (PARTITION BY rank, step, op_id) AS error_in,
            max(if(is_output, finite_norm_error, 0.)) OVER (PARTITION BY rank, step, op_id) AS error_out,
            min(if(is_output, 1., ifNull(thousandth_ratio, 1.))) OVER (PARTITION BY rank, step, op_id) AS ratio_in,
            min(if(is_output, ifNull(thousandth_ratio, 1.), 1.)) OVER (PARTITION BY rank, step, op_id) AS ratio_out,
            min(if(is_output, 1., ifNull(cosine, 1.))) OVER (PARTITION BY rank, step, op_id) AS cosine_in,
            min(if(is_output, ifNull(cosine, 1.), 1.)) OVER (PARTITION BY rank, step, op_id) AS cosine_out,
            splitByChar('.', op)[2] AS api,
            has_input AND api IN ('empty', 'empty_like', 'numpy', 'to', '__setitem__', 'empty_with_format', 'new_empty_strided', 'new_empty', 'empty_strided') AS is_ignored,
            has_input AND api IN ('_reduce_scatter_base', '_all_gather_base', 'all_to_all_single', 'batch_isend_irecv') AS are_inputs_ignored,
            NOT is_ignored AND (is_output OR NOT are_inputs_ignored) AS is_judged,
            NOT is_ignored AND NOT are_inputs_ignored AS is_call_judged,
            is_call_judged AND row_mode = 'statistics' AS by_statistics,
            is_call_judged AND row_mode = 'tensor' AND seq = first_output AS by_tensors,
            -- A zero is a zero, whatever its sign.
            problem_value != bench_value AND NOT (problem_dtype = '<class \'float\'>' AND ifNull(problem_statistics[1] = bench_statistics[1], 0)) AS is_other_value,
            isFinite(problem_statistics[1]) = 0 OR isFinite(problem_statistics[2]) = 0 AS problem_not_finite,
            isFinite(bench_statistics[1]) = 0 OR isFinite(bench_statistics[2]) = 0 AS bench_not_finite
        SELECT
            rank,
            bench_rank,
            step,
            seq,
            op_id,
            op,
            site_id,
            role,
            path,
            name,
            paired,
            bench_op,
            bench_site_id,
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
            differences,
            relative_errors,
            compared,
            cosine,
            l2_distance,
            max_absolute,
            max_relative,
            thousandth_ratio,
            five_thousandth_ratio,
            payload_message,
            if(row_mode = 'md5',
                [
                    (is_judged AND problem_checksum != bench_checksum AND problem_checksum != 'N/A' AND bench_checksum != 'N/A', 'error: The CRC-32 value of NPU differs from that of the bench.'),
                    (is_judged AND problem_checksum != bench_checksum AND (problem_checksum = 'N/A' OR bench_checksum = 'N/A'), 'warning: The parameter of NPU does not match the bench.')
                ],
                [
                    (is_judged AND ifNull(problem_not_finite, 0) AND NOT ifNull(bench_not_finite, 0), 'error: There is nan/inf/-inf in the maximum or minimum value of NPU.'),
                    (by_statistics AND is_output AND error_in < 0.1 AND ifNull(abs(norm_error) > 0.5, 0), 'error: The NormRelativeErr of output is greater than 0.5.'),
                    (by_tensors AND ratio_in > 0.9 AND ratio_out < 0.1, 'error: The input/parameters of One Thousandth Err Ratio > 0.9 while the output < 0.6.'),
                    (is_judged AND paired AND problem_requires_grad != bench_requires_grad, 'error: The Required_Grad of NPU and Bench are inconsistent'),
                    (is_call_judged AND paired AND NOT is_output AND startsWith(problem_dtype, '<class') AND problem_shape = '[]' AND is_other_value, 'error: The scalar parameters of NPU and Bench are inconsistent.'),
                    (is_judged AND paired AND problem_dtype != bench_dtype, 'error: The dtype of NPU and Bench are inconsistent.'),
                    (is_judged AND paired AND problem_shape != bench_shape, 'error: The shape of NPU and Bench are inconsistent.'),
                    (by_statistics AND seq = first_output AND if(error_in = 0, error_out > 0.1, error_out / error_in > 10), 'warning: The norm relative error of output is 10 times that of input.'),
                    (by_tensors AND cosine_in > 0.9 AND cosine_in - cosine_out > 0.1, 'warning: The input/parameters of Cosine > 0.9, and input/parameters - output > 0.1')
                ]) AS rules,
            arrayMap(rule -> rule.2, arrayFilter(rule -> rule.1, rules)) AS messages
        FROM tap.msprobe_pairs(problem = {problem:String}, bench = {bench:String}, rank = {rank:Int64}, first_step = {first_step:Int64}, last_step = {last_step:Int64}, step_offset = {step_offset:Int64})
    )
SELECT
    rank,
    bench_rank,
    step,
    seq,
    row_mode AS mode,
    op_id,
    op,
    site_id,
    role,
    path,
    name,
    paired,
    bench_op,
    bench_site_id,
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
    problem_statistics[1] AS problem_max,
    bench_statistics[1] AS bench_max,
    problem_statistics[2] AS problem_min,
    bench_statistics[2] AS bench_min,
    problem_statistics[3] AS problem_mean,
    bench_statistics[3] AS bench_mean,
    problem_statistics[4] AS problem_norm,
    bench_statistics[4] AS bench_norm,
    differences[1] AS max_difference,
    differences[2] AS min_difference,
    differences[3] AS mean_difference,
    differences[4] AS norm_difference,
    relative_errors[1] AS max_relative_error,
    relative_errors[2] AS min_relative_error,
    relative_errors[3] AS mean_relative_error,
    relative_errors[4] AS norm_relative_error,
    compared,
    cosine,
    l2_distance,
    max_absolute,
    max_relative,
    thousandth_ratio,
    five_thousandth_ratio,
    payload_message,
    CAST(multiIf(
        arrayExists(message -> startsWith(message, 'error'), messages), 2,
        notEmpty(messages), 1,
        0) AS Enum8('pass' = 0, 'warning' = 1, 'error' = 2)) AS msprobe_result,
    if(empty(messages), '[]', concat('["', arrayStringConcat(messages, '", "'), '"]')) AS msprobe_message
FROM judged
