-- Question: which rows does msProbe make of the dumps of a run, and under which key does it look for their partners?
-- Grain: one row per rank, step, tensor or other argument of an op
-- Reads: tap_store.tensor, tap_store.site, tap_store.payload, tap_store.step, tap_store.program, tap_store.op, tap_store.layout, tap.superseded_steps
-- Empty when: the run has no such step, or none that has ended
-- Parameter run: name of the run.
-- Parameter rank = -1: only this rank; -1 for all.
-- Parameter first_step = 0: first step.
-- Parameter last_step = -1: last step; -1 for all.
-- The key is the row's full name, in which the calls of backward ops are counted anew in the order in which they ran.
-- Of the statistics, in msProbe's order, those of an argument that is no tensor are all its value, if that is a number.
-- What has a dtype of its own stands as it is; the value of another argument is what Python prints of it.
WITH
    run_steps AS (
        SELECT
            rank,
            step,
            epoch,
            program_id
        FROM tap_store.step
        WHERE run_id = xxh3(concat({run:String}, char(31)))
            AND ({rank:Int64} = -1 OR rank = {rank:Int64})
            AND step >= {first_step:Int64}
            AND ({last_step:Int64} = -1 OR step <= {last_step:Int64})
            AND (rank, step, epoch) NOT IN (
                SELECT
                    rank,
                    step,
                    epoch
                FROM tap.superseded_steps
                WHERE run_id = xxh3(concat({run:String}, char(31)))
            )
    ),
    named_ops AS (
        SELECT
            program_id,
            position,
            op_id,
            name,
            splitByChar('.', name) AS parts,
            parts[-1] IN ('forward', 'parameters_grad') OR parts[-2] IN ('forward', 'parameters_grad') AS is_other,
            NOT is_other AND (parts[-1] = 'backward' OR parts[-2] = 'backward') AS is_backward,
            arrayStringConcat(arraySlice(parts, 1, length(parts) - 2), '.') AS base
        FROM tap_store.program FINAL
        LEFT ANY JOIN tap_store.op USING (op_id)
        WHERE program_id IN (
            SELECT program_id
            FROM tap_store.step
            WHERE run_id = xxh3(concat({run:String}, char(31)))
        )
    ),
    keyed_ops AS (
        SELECT
            program_id,
            op_id,
            name,
            toString(row_number() OVER (PARTITION BY program_id, is_backward, base ORDER BY position) - 1) AS call,
            multiIf(
                is_backward AND match(parts[-1], '^[0-9]+$'), concat(base, '.', parts[-2], '.', call),
                is_backward AND match(parts[-2], '^[0-9]+$'), concat(base, '.', call, '.', parts[-1]),
                name) AS op_key
        FROM named_ops
        WHERE is_other OR is_backward
    ),
    worded AS (
        WITH
            kind IN ('size', 'slice', 'group') AS is_list,
            replaceAll(if(kind = 'group', JSONExtractRaw(literal, 'group_ranks'), literal), 'null', 'None') AS list,
            multiIf(
                kind = 'bool', if(lower(literal) = 'true', 'True', 'False'),
                kind IN ('int', 'float'), transform(literal, ['NaN', 'Infinity', '-Infinity'], ['nan', 'inf', '-inf'], literal),
                is_list, replaceRegexpAll(list, ', ?', ', '),
                literal) AS printed
        SELECT
            layout_id,
            kind = 'tensor' AS is_tensor,
            multiIf(
                kind = 'tensor', dtype,
                kind = 'none', 'N/A',
                kind = 'size', 'torch.Size',
                kind = 'slice', 'slice',
                kind = 'group', 'torch.ProcessGroup',
                kind IN ('int', 'float', 'bool', 'str'), concat('<class \'', kind, '\'>'),
                dtype = 'ellipsis', 'ellipsis',
                dtype = 'torch.memory_format', '<class \'NoneType\'>',
                '<class \'str\'>') AS dtype_text,
            multiIf(
                kind = 'tensor', concat('[', arrayStringConcat(shape, ', '), ']'),
                kind = 'none', 'N/A',
                kind = 'size', printed,
                kind = 'slice', '(3,)',
                '[]') AS shape_text,
            if(requires_grad IS NULL, 'N/A', if(requires_grad = 1, 'True', 'False')) AS requires_grad_text,
            multiIf(
                kind = 'tensor', '',
                kind IN ('none', 'size', 'slice') OR dtype = 'torch.memory_format', 'None',
                printed) AS value_text,
            multiIf(
                kind = 'tensor', '',
                kind = 'none', 'N/A',
                kind = 'group', printed,
                dtype = 'torch.memory_format', '00000000',
                leftPad(lower(hex(CRC32(printed))), 8, '0')) AS checksum_text
        FROM tap_store.layout FINAL
    ),
    -- Where the tensor itself was kept, its row is named by the file, which says kwargs.
    role = 'kwarg' AND t.site_id IN (
        SELECT site_id
        FROM tap_store.payload
        WHERE run_id = xxh3(concat({run:String}, char(31)))
    ) AS is_kept_kwarg,
    transform(role, ['input', 'kwarg', 'parameter', 'output'], ['.input', '.input', '.parameters', '.output'], '') AS part,
    concat(if(is_kept_kwarg, '.kwargs', part), if(path = '', '', '.'), path) AS suffix,
    match(path, '(^|\\.)(src|dst|group_src|group_dst)$') AND startsWith(l.dtype_text, '<class') AS is_peer
SELECT
    t.rank AS rank,
    t.step AS step,
    t.seq AS seq,
    k.op_id AS op_id,
    k.name AS op,
    t.site_id AS site_id,
    role,
    path,
    concat(k.name, suffix) AS name,
    xxh3(concat(k.op_key, suffix)) AS row_key,
    t.layout_id AS layout_id,
    is_tensor,
    if(is_peer, splitByChar('\'', l.dtype_text)[2], l.dtype_text) AS dtype_text,
    shape_text,
    requires_grad_text,
    value_text,
    multiIf(
        t.digest_kind = 1, leftPad(lower(hex(toUInt32(t.digest))), 8, '0'),
        t.digest_kind = 2, concat('0x', leftPad(lower(hex(t.digest)), 16, '0')),
        is_tensor, '00000000',
        is_peer, value_text,
        checksum_text) AS checksum,
    if(is_tensor,
        [
            if(bitTest(t.measured, 1), toNullable(t.value_max), NULL),
            if(bitTest(t.measured, 0), toNullable(t.value_min), NULL),
            if(bitTest(t.measured, 2), toNullable(t.value_mean), NULL),
            if(bitTest(t.measured, 4), toNullable(t.value_l2), NULL)
        ],
        arrayWithConstant(4, if(l.dtype_text = '<class \'bool\'>', NULL, toFloat64OrNull(value_text)))) AS statistics
FROM tap_store.tensor AS t
INNER JOIN run_steps AS s ON s.rank = t.rank AND s.step = t.step AND s.epoch = t.epoch
LEFT ANY JOIN tap_store.site AS site ON site.site_id = t.site_id
INNER JOIN keyed_ops AS k ON k.program_id = s.program_id AND k.op_id = site.op_id
LEFT ANY JOIN worded AS l ON l.layout_id = t.layout_id
WHERE t.run_id = xxh3(concat({run:String}, char(31)))
    AND ({rank:Int64} = -1 OR t.rank = {rank:Int64})
    AND NOT (role = 'output' AND path = 'is_nan')
