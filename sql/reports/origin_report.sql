-- Question: where did the problem run begin to differ from the bench run, over all ranks?
-- Grain: one row per rank whose first difference comes after no other rank's, at the first step that has one
-- Reads: tap.verdicts, tap.excused_sites, tap.meetings, tap.program_pairs, tap.alignments, tap.sites, tap.ops, tap.layouts, tap.programs, tap.program_stacks, tap.stacks, tap_store.step
-- Empty when: nothing differs beyond the tolerance
-- Shown: rank, step, op, module, role, path, kind, verdict, error, tolerance, side
-- Parameter problem: name of the run under suspicion.
-- Parameter bench: name of the run it is held against.
-- Parameter benches = []: names of further bench runs; from three on in all, their spread is the tolerance.
-- Parameter tolerance = -1: greatest relative error that is tolerated; -1 for one by dtype and depth.
-- Parameter tolerances = []: rules (op pattern, dtype pattern, tolerance) that go before it, the first that fits counts.
-- Parameter rank = -1: only this rank of the problem; -1 for all.
-- Parameter first_step = 0: first step of the problem.
-- Parameter last_step = -1: last step of the problem; -1 for all.
-- Parameter step_offset = 0: what to add to a step of the problem for that of the bench.
-- The first row of a rank, in execution order, that differs is a suspect if no other rank's precedes it: by its own
-- order, by collectives and messages, and since libraries reduce gradients where no op is recorded, by the end of the
-- backward, at which all ranks are taken to meet. An earlier step precedes a later one. What is reached
-- grows in rounds; they stand here so that the verdicts are made once.
-- Kinds: a literal is argument; a parameter, an input with the values of one of the calling module's, or a weight-like
-- input that requires a gradient is parameter; operation when the op is another one in the bench, when ops of one run
-- only stand directly before, or when NaN or +Inf appears in an op of the problem alone before anything differs; else an
-- input that nothing before it showed is data, and an output is computed. Several rows are concurrent suspects.
WITH RECURSIVE
    (
        SELECT 9223372036854775807
    ) AS never,
    rounds AS (
        SELECT
            firsts,
            arraySort(arrayDistinct(arrayConcat(arrayMap(first -> first.1, firsts), arrayFlatten(arrayMap(meeting -> arrayConcat(arrayMap(giver -> giver.1, meeting.1), arrayMap(taker -> taker.1, meeting.2)), step_meetings))))) AS ranks,
            arrayMap(meeting -> (
                arrayMap(giver -> (indexOf(ranks, giver.1), giver.2), meeting.1),
                arrayMap(taker -> (indexOf(ranks, taker.1), taker.2), meeting.2)), step_meetings) AS meetings,
            arrayMap(one -> arrayMin(arrayPushBack(arrayMap(first -> 2 * least(toInt64(first.3), 4611686018427387903) + 1, arrayFilter(first -> first.1 = one, firsts)), never)), ranks) AS places,
            true AS nearer
        FROM
        (
            SELECT
                arrayMin(arrayMap(first -> first.2, all_firsts)) AS origin_step,
                arrayFilter(first -> first.2 = origin_step, all_firsts) AS firsts
            FROM
            (
                -- An op that stands alone counts where something differs after it.
                SELECT groupArray(tupleConcat(tuple(rank), if(alone_count > 0 AND tupleElement(earliest.3, 2) < tupleElement(earliest.2, 2), earliest.3, earliest.2), tuple(differing_count, earliest.4))) AS all_firsts
                FROM
                (
                    SELECT
                        rank,
                        argMin((step, first, alone, parameters, step_alone_count), step) AS earliest,
                        tupleElement(earliest, 5) AS alone_count,
                        sum(step_differing_count) AS differing_count
                    FROM
                    (
                        SELECT
                            rank,
                            step,
                            argMinIf((step, seq, micro_step, site_id, bench_site_id, problem_layout_id, bench_layout_id, problem_measured, bench_measured, problem_min, bench_min, problem_max, bench_max, problem_mean, bench_mean, problem_l2, bench_l2, error, tolerance, toString(evidence), toString(verdict), toString(side), reason, differs), (seq, micro_step, site_id), differs) AS first,
                            argMinIf((step, seq, micro_step, site_id, bench_site_id, problem_layout_id, bench_layout_id, problem_measured, bench_measured, problem_min, bench_min, problem_max, bench_max, problem_mean, bench_mean, problem_l2, bench_l2, error, tolerance, toString(evidence), toString(verdict), toString(side), reason, differs), (seq, micro_step, site_id), NOT differs) AS alone,
                            groupArrayIf((site_id, cityHash64(problem_layout_id, problem_min, problem_max, problem_mean, problem_l2)), differs AND site_id IN (
                                SELECT site_id
                                FROM tap.sites
                                WHERE role = 'parameter'
                            )) AS parameters,
                            countIf(NOT differs) AS step_alone_count,
                            countIf(differs) AS step_differing_count
                        FROM tap.verdicts(problem = {problem:String}, bench = {bench:String}, benches = {benches:Array(String)}, tolerance = {tolerance:Float64}, tolerances = {tolerances:Array(Tuple(String, String, Float64))}, rank = {rank:Int64}, first_step = {first_step:Int64}, last_step = {last_step:Int64}, step_offset = {step_offset:Int64})
                        WHERE differs OR (
                            problem_present
                            AND NOT bench_present
                            AND (problem_not_finite_count > 0 OR isNaN(problem_min) OR isNaN(problem_max) OR (problem_max = inf AND problem_element_count > 0))
                            AND site_id NOT IN (
                                SELECT site_id
                                FROM tap.excused_sites
                            ))
                        GROUP BY
                            rank,
                            step
                        HAVING step_differing_count > 0
                    )
                    GROUP BY rank
                )
            )
        ) AS began
        LEFT ANY JOIN
        (
            SELECT
                step,
                groupArray((givers, takers)) AS step_meetings
            FROM
            (
                SELECT
                    step,
                    groupArrayIf((rank, position), gives) AS givers,
                    groupArrayIf((rank, position), takes) AS takers
                FROM tap.meetings(run = {problem:String}, first_step = {first_step:Int64}, last_step = {last_step:Int64})
                GROUP BY
                    step,
                    meeting
            )
            GROUP BY step
        ) AS met ON met.step = began.origin_step
        UNION ALL
        SELECT
            firsts,
            ranks,
            meetings,
            reached_places AS places,
            reached_places != former_places AS nearer
        FROM
        (
            SELECT
                firsts,
                ranks,
                meetings,
                places AS former_places,
                arrayConcat(
                    arrayMap((place, i) -> (toUInt64(i), place), places, arrayEnumerate(places)),
                    arrayMap(taker -> (taker.1, 2 * (taker.2 + 1)), arrayFlatten(arrayMap(met -> met.2, arrayFilter(met -> arrayExists(giver -> places[giver.1] <= 2 * giver.2 + 1, met.1), meetings))))) AS reaching,
                -- The least place of each rank, by its number from 1.
                if(empty(reaching), places, tupleElement(arrayReduce('minMap', arrayMap(one -> [one.1], reaching), arrayMap(one -> [one.2], reaching)), 2)) AS reached_places
            FROM rounds
            WHERE nearer
        )
    ),
    -- Each op behind the ops that only one run has and that stand directly before it.
    standing AS (
        SELECT
            problem_program_id,
            bench_program_id,
            problem_op_id,
            arrayFilter(name -> name != '', groupArray(if(op.level = 'module' OR paired, '', concat(op.name, if(problem_op_id = 0, ' only in bench', ' only in problem')))) OVER (PARTITION BY problem_program_id, bench_program_id, block ORDER BY position)) AS names
        FROM
        (
            SELECT
                problem_program_id,
                bench_program_id,
                position,
                problem_op_id,
                bench_op_id,
                problem_op_id != 0 AND bench_op_id != 0 AS paired,
                countIf(paired) OVER (PARTITION BY problem_program_id, bench_program_id ORDER BY position ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS block
            FROM tap.alignments
            WHERE (problem_program_id, bench_program_id) IN (
                SELECT
                    problem_program_id,
                    bench_program_id
                FROM tap.program_pairs(problem = {problem:String}, bench = {bench:String}, rank = {rank:Int64}, first_step = {first_step:Int64}, last_step = {last_step:Int64}, step_offset = {step_offset:Int64})
            )
        ) AS aligned
        LEFT ANY JOIN tap.ops AS op ON op.op_id = if(aligned.problem_op_id = 0, aligned.bench_op_id, aligned.problem_op_id)
    )
SELECT
    shown.rank AS rank,
    shown.step AS step,
    shown.seq AS position,
    multiIf(op.name != '', op.name, site.op_id != 0, leftPad(lower(hex(site.op_id)), 16, '0'), leftPad(lower(hex(shown.site_id)), 16, '0')) AS op,
    multiIf(
        op.module_path != '', op.module_path,
        parent.module_path != '', parent.module_path,
        parent.name) AS module,
    site.role AS role,
    site.path AS path,
    multiIf(
        NOT shown.differs, 'operation',
        site.op_id = 0, 'unknown',
        problem_layout.kind NOT IN ('tensor', '') OR bench_layout.kind NOT IN ('tensor', ''), 'argument',
        site.role = 'parameter' OR parameter != '', 'parameter',
        operation != '' AND (site.role IN ('input', 'kwarg') OR op.level = 'module' OR op.class_or_api != bench_op.class_or_api), 'operation',
        site.role IN ('output', 'parameter_gradient'), 'computed',
        problem_layout.requires_grad = 1 AND op.phase = 'forward' AND (length(problem_layout.shape) = 1 OR (length(problem_layout.shape) = 2 AND site.path != '0')), 'parameter',
        'data') AS kind,
    if(site.role IN ('input', 'kwarg'), arrayFirst(one -> has(shown.same_valued, one.1), module.parameters).2, '') AS parameter,
    multiIf(
        NOT shown.differs, concat(op.name, ' only in problem'),
        op.class_or_api != bench_op.class_or_api AND empty(standing.names), concat(op.name, ' in problem, ', bench_op.name, ' in bench'),
        arrayStringConcat(arraySlice(standing.names, 1, 4), ', ')) AS operation,
    shown.verdict AS verdict,
    shown.reason AS reason,
    shown.evidence AS evidence,
    if(isNaN(shown.error), NULL, toNullable(shown.error)) AS error,
    if(isNaN(shown.tolerance), NULL, toNullable(shown.tolerance)) AS tolerance,
    shown.side AS side,
    problem_layout.dtype AS problem_dtype,
    bench_layout.dtype AS bench_dtype,
    problem_layout.shape AS problem_shape,
    bench_layout.shape AS bench_shape,
    problem_layout.literal AS problem_literal,
    bench_layout.literal AS bench_literal,
    if(bitTest(shown.problem_measured, 0), toNullable(shown.problem_min), NULL) AS problem_min,
    if(bitTest(shown.bench_measured, 0), toNullable(shown.bench_min), NULL) AS bench_min,
    if(bitTest(shown.problem_measured, 1), toNullable(shown.problem_max), NULL) AS problem_max,
    if(bitTest(shown.bench_measured, 1), toNullable(shown.bench_max), NULL) AS bench_max,
    if(bitTest(shown.problem_measured, 2), toNullable(shown.problem_mean), NULL) AS problem_mean,
    if(bitTest(shown.bench_measured, 2), toNullable(shown.bench_mean), NULL) AS bench_mean,
    if(bitTest(shown.problem_measured, 4), toNullable(shown.problem_l2), NULL) AS problem_l2,
    if(bitTest(shown.bench_measured, 4), toNullable(shown.bench_l2), NULL) AS bench_l2,
    stack.user_frame AS user_frame,
    shown.differing_count AS differing_count,
    shown.concurrent AS concurrent,
    shown.micro_step AS micro_step
FROM
(
    SELECT
        tupleElement(suspect, 1) AS rank,
        tupleElement(suspect, 2) AS step,
        tupleElement(suspect, 3) AS seq,
        tupleElement(suspect, 4) AS micro_step,
        tupleElement(suspect, 5) AS site_id,
        tupleElement(suspect, 6) AS bench_site_id,
        tupleElement(suspect, 7) AS problem_layout_id,
        tupleElement(suspect, 8) AS bench_layout_id,
        tupleElement(suspect, 9) AS problem_measured,
        tupleElement(suspect, 10) AS bench_measured,
        tupleElement(suspect, 11) AS problem_min,
        tupleElement(suspect, 12) AS bench_min,
        tupleElement(suspect, 13) AS problem_max,
        tupleElement(suspect, 14) AS bench_max,
        tupleElement(suspect, 15) AS problem_mean,
        tupleElement(suspect, 16) AS bench_mean,
        tupleElement(suspect, 17) AS problem_l2,
        tupleElement(suspect, 18) AS bench_l2,
        tupleElement(suspect, 19) AS error,
        tupleElement(suspect, 20) AS tolerance,
        tupleElement(suspect, 21) AS evidence,
        tupleElement(suspect, 22) AS verdict,
        tupleElement(suspect, 23) AS side,
        tupleElement(suspect, 24) AS reason,
        tupleElement(suspect, 25) AS differs,
        tupleElement(suspect, 26) AS differing_count,
        arrayMap(one -> one.1, arrayFilter(one -> one.2 = cityHash64(problem_layout_id, problem_min, problem_max, problem_mean, problem_l2), tupleElement(suspect, 27))) AS same_valued,
        concurrent
    FROM
    (
        SELECT
            arrayFilter(first -> places[indexOf(ranks, first.1)] = 2 * least(toInt64(first.3), 4611686018427387903) + 1, firsts) AS unpreceded,
            -- Meetings that contradict each other leave all.
            arrayJoin(if(empty(unpreceded), firsts, unpreceded)) AS suspect,
            length(if(empty(unpreceded), firsts, unpreceded)) AS concurrent
        FROM rounds
        WHERE NOT nearer
    )
) AS shown
LEFT ANY JOIN tap.sites AS site ON site.site_id = shown.site_id
LEFT ANY JOIN
(
    SELECT
        rank,
        step,
        problem_program_id,
        bench_program_id
    FROM tap.program_pairs(problem = {problem:String}, bench = {bench:String}, rank = {rank:Int64}, first_step = {first_step:Int64}, last_step = {last_step:Int64}, step_offset = {step_offset:Int64})
) AS program_pair ON program_pair.rank = shown.rank AND program_pair.step = shown.step
LEFT ANY JOIN
(
    SELECT
        program_id,
        op_id,
        parent_op_id,
        position
    FROM tap.programs
    WHERE program_id IN (
        SELECT program_id
        FROM tap_store.step
        WHERE run_id = xxh3(concat({problem:String}, char(31)))
    )
) AS program ON program.program_id = program_pair.problem_program_id AND program.op_id = site.op_id
LEFT ANY JOIN
(
    SELECT
        program_id,
        position,
        stack_id
    FROM tap.program_stacks
    WHERE run_id = xxh3(concat({problem:String}, char(31)))
) AS call ON call.program_id = program.program_id AND call.position = program.position
LEFT ANY JOIN tap.stacks AS stack ON stack.stack_id = call.stack_id
LEFT ANY JOIN tap.ops AS op ON op.op_id = site.op_id
LEFT ANY JOIN tap.ops AS parent ON parent.op_id = program.parent_op_id
LEFT ANY JOIN tap.layouts AS problem_layout ON problem_layout.layout_id = shown.problem_layout_id
LEFT ANY JOIN tap.layouts AS bench_layout ON bench_layout.layout_id = shown.bench_layout_id
LEFT ANY JOIN tap.sites AS bench_site ON bench_site.site_id = shown.bench_site_id
LEFT ANY JOIN tap.ops AS bench_op ON bench_op.op_id = if(bench_site.op_id = 0, site.op_id, bench_site.op_id)
LEFT ANY JOIN standing ON standing.problem_program_id = program_pair.problem_program_id
    AND standing.bench_program_id = program_pair.bench_program_id
    AND standing.problem_op_id = site.op_id
LEFT ANY JOIN
(
    SELECT
        op_id,
        groupArray((site_id, path)) AS parameters
    FROM tap.sites
    WHERE role = 'parameter'
    GROUP BY op_id
) AS module ON module.op_id = program.parent_op_id
ORDER BY
    position,
    rank
