-- Question: where in a step do ranks of a run meet, so that what one did before can be seen by another after?
-- Grain: one row per step, micro step, meeting, rank that takes part
-- Reads: tap.observations, tap.sites, tap.ops, tap.layouts, tap.programs, tap_store.step
-- Empty when: the run has no collectives and no backward
-- Parameter run: name of the run.
-- Parameter first_step = 0: first step.
-- Parameter last_step = -1: last step; -1 for all.
-- A collective is matched by its group, its API and how many calls of it the group has seen in the step; a message by
-- sender, receiver and its number. Without a group it is of all ranks. Libraries reduce gradients where no op is
-- recorded, so all ranks are taken to meet at the end of their backward.
WITH
    backward_ends AS (
        SELECT argMax(program.op_id, program.position) AS op_id
        FROM tap.programs AS program
        WHERE program.op_id IN (
            SELECT op_id
            FROM tap.ops
            WHERE phase IN ('backward', 'gradient')
        )
        AND program.program_id IN (
            SELECT program_id
            FROM tap_store.step
            WHERE run_id = xxh3(concat({run:String}, char(31)))
        )
        GROUP BY program.program_id
    ),
    meeting_ops AS (
        SELECT
            op_id,
            class_or_api,
            level = 'collective' AS is_collective
        FROM tap.ops
        WHERE level = 'collective' OR op_id IN (
            SELECT op_id
            FROM backward_ends
        )
    ),
    meeting_sites AS (
        SELECT
            site.site_id AS site_id,
            site.op_id AS op_id,
            site.role AS role,
            site.path AS path,
            op.class_or_api AS api,
            op.is_collective AS is_collective
        FROM tap.sites AS site
        INNER JOIN meeting_ops AS op ON op.op_id = site.op_id
    ),
    calls AS (
        SELECT
            seen.rank AS rank,
            seen.step AS step,
            seen.micro_step AS micro_step,
            site.op_id AS op_id,
            any(site.is_collective) AS is_collective,
            any(site.api) AS call_api,
            toInt64(min(seen.seq)) AS first_row,
            toInt64(max(seen.seq)) AS last_row,
            greatest(first_row, toInt64(maxIf(seen.seq, site.role != 'output'))) AS last_input,
            -- A keyword names its meaning; by position it is the second argument of all of these.
            anyIf(layout.literal, layout.kind = 'int' AND (site.path IN ('src', 'dst') OR (site.role = 'input' AND site.path = '1'))) AS peer,
            anyIf(JSONExtract(layout.literal, 'group_ranks', 'Array(UInt32)'), layout.kind = 'group') AS group_ranks,
            groupArrayIf((toInt64(seen.seq), layout.literal), site.role != 'output' AND startsWith(layout.literal, 'torch.distributed.P2POp')) AS messages
        FROM tap.observations(run = {run:String}, rank = -1, first_step = {first_step:Int64}, last_step = {last_step:Int64}) AS seen
        INNER JOIN meeting_sites AS site ON site.site_id = seen.site_id
        LEFT ANY JOIN tap.layouts AS layout ON layout.layout_id = seen.layout_id
        WHERE seen.site_id IN (
            SELECT site_id
            FROM meeting_sites
        )
        GROUP BY
            rank,
            step,
            micro_step,
            op_id
    ),
    events AS (
        SELECT
            rank,
            step,
            if(is_collective, micro_step, 0) AS met_micro_step,
            op_id,
            multiIf(NOT is_collective, 'end of backward', event.3 != '', event.3, call_api) AS api,
            event.1 AS position,
            max(position) OVER (PARTITION BY rank, step, is_collective) AS last_position,
            event.2 AS other,
            if(other = '', toInt64(-1), toInt64OrZero(other)) AS root,
            multiIf(
                api = 'send', concat('message ', toString(rank), ' ', other),
                api = 'recv', concat('message ', other, ' ', toString(rank)),
                concat(api, ' ', toString(group_ranks))) AS label
        FROM
        (
            SELECT
                rank,
                step,
                micro_step,
                op_id,
                is_collective,
                call_api,
                group_ranks,
                arrayJoin(multiIf(
                    NOT is_collective, [(last_row, '', '')],
                    notEmpty(messages), arrayMap(message -> (message.1, extract(message.2, '"peer":([0-9]+)'), extract(message.2, '"op":"i?(send|recv)"')), messages),
                    [(last_input, peer, extract(call_api, '^i?(send|recv)$'))])) AS event
            FROM calls
        )
    )
SELECT
    step,
    met_micro_step AS micro_step,
    xxh3((step, micro_step, label, row_number() OVER (PARTITION BY rank, step, micro_step, label, api ORDER BY position))) AS meeting,
    api,
    rank,
    op_id,
    position,
    api != 'recv' AND NOT (api IN ('broadcast', 'scatter') AND root NOT IN (-1, rank)) AS gives,
    api != 'send' AND NOT (api IN ('reduce', 'gather') AND root NOT IN (-1, rank)) AS takes
FROM events
-- The last of what ends the backward of some program is the end of this one's.
WHERE position = last_position OR api != 'end of backward'
