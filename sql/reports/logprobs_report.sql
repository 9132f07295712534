-- Question: do the log-probabilities of two programs that run one model drift apart, as a rollout's from its trainer's, since which step and why?
-- Grain: one row per step of the trainer in which either run has tokens
-- Reads: tap.tokens, tap.weights, tap.token_tolerances, tap_store.tensor, tap_store.site, tap_store.op, tap_store.layout
-- Empty when: no program told the collector of tokens in either run
-- Shown: step, verdict, paired_count, alone_count, mean_difference, p99_difference, kl_k1, kl_k3, beyond_clip, cause, place, evidence
-- Parameter problem: name of the run that sampled.
-- Parameter bench: name of the run that scored, which it is held against.
-- Parameter tolerance = -1: mean absolute difference up to which a step is flat; -1 for that of the models' dtype, 1e-4 of float32 and 2e-2 of others.
-- Parameter clip = 0.2: how far a ratio of probabilities may be from 1.
-- Parameter first_step = 0: first step.
-- Parameter last_step = -1: last step; -1 for all.
-- Parameter limit = 10000: greatest number of rows.
-- Tokens pair by step, prompt, sample and position; of several that a run has there, the first of its lowest rank counts. Differences are
-- problem less bench, of tokens whose ids are equal and whose logarithms are finite in both. k1 and k3 estimate the divergence KL(problem || bench), as
-- problem sampled. The cause is the first of those for which there is evidence in rows of both runs; what else would explain it is in `also`.
WITH
    told AS (
        SELECT
            global_step,
            prompt_hash,
            sample,
            position,
            countIf(run_id = xxh3(concat({problem:String}, char(31)))) AS in_problem,
            countIf(run_id = xxh3(concat({bench:String}, char(31)))) AS in_bench,
            argMinIf((token_id, log_probability), (rank, epoch, seq), run_id = xxh3(concat({problem:String}, char(31)))) AS of_problem,
            argMinIf((token_id, log_probability), (rank, epoch, seq), run_id = xxh3(concat({bench:String}, char(31)))) AS of_bench,
            greatest(maxIf(ifNull(cached_token_count, 0), run_id = xxh3(concat({problem:String}, char(31)))), maxIf(ifNull(cached_token_count, 0), run_id = xxh3(concat({bench:String}, char(31))))) AS cached_count
        FROM tap.tokens
        WHERE run_id IN (xxh3(concat({problem:String}, char(31))), xxh3(concat({bench:String}, char(31))))
            AND global_step >= {first_step:Int64}
            AND ({last_step:Int64} = -1 OR global_step <= {last_step:Int64})
        GROUP BY
            global_step,
            prompt_hash,
            sample,
            position
    ),
    pairs AS (
        SELECT
            global_step,
            prompt_hash,
            sample,
            position,
            cached_count,
            in_problem > 0 AND in_bench > 0 AS is_pair,
            in_problem = 0 AS is_alone_in_bench,
            tupleElement(of_problem, 1) = tupleElement(of_bench, 1) AS same_id,
            tupleElement(of_bench, 2) AS scored,
            if(tupleElement(of_problem, 2) = scored, 0., tupleElement(of_problem, 2) - scored) AS difference,
            is_pair AND same_id AND isFinite(difference) AS usable
        FROM told
    ),
    steps AS (
        SELECT
            global_step,
            countIf(is_pair) AS paired_count,
            countIf(NOT is_pair AND NOT is_alone_in_bench) AS only_problem_count,
            countIf(is_alone_in_bench) AS only_bench_count,
            uniqExactIf(prompt_hash, NOT is_pair AND NOT is_alone_in_bench) AS only_problem_prompt_count,
            uniqExactIf(prompt_hash, is_alone_in_bench) AS only_bench_prompt_count,
            countIf(is_pair AND NOT same_id) AS other_id_count,
            minIf(position, is_pair AND NOT same_id) AS first_other_id,
            countIf(is_pair AND same_id AND NOT isFinite(difference)) AS not_finite_count,
            countIf(usable) AS usable_count,
            avgIf(abs(difference), usable) AS mean_difference,
            quantileExactIf(0.99)(abs(difference), usable) AS p99_difference,
            avgIf(difference, usable) AS kl_k1,
            avgIf(exp(-difference) - 1 + difference, usable) AS kl_k3,
            countIf(usable AND abs(exp(-difference) - 1) > {clip:Float64}) AS beyond_count,
            corrIf(difference, scored, usable) AS fit,
            covarPopIf(difference, scored, usable) / varPopIf(scored, usable) AS slope,
            countIf(usable AND difference > 0) AS greater_count,
            countIf(usable AND difference < 0) AS less_count,
            corrIf(abs(difference), toFloat64(position), usable) AS growth,
            countIf(usable AND cached_count > 0) AS cached_token_count,
            countIf(usable AND cached_count = 0) AS uncached_token_count,
            avgIf(abs(difference), usable AND cached_count > 0) AS cached_difference,
            avgIf(abs(difference), usable AND cached_count = 0) AS uncached_difference
        FROM pairs
        GROUP BY global_step
    ),
    programs AS (
        SELECT
            global_step,
            maxIf(weights_version, run_id = xxh3(concat({problem:String}, char(31)))) AS problem_version,
            maxIf(weights_version, run_id = xxh3(concat({bench:String}, char(31)))) AS bench_version,
            anyIf(temperature, run_id = xxh3(concat({problem:String}, char(31)))) AS problem_temperature,
            anyIf(temperature, run_id = xxh3(concat({bench:String}, char(31)))) AS bench_temperature
        FROM tap.tokens
        WHERE run_id IN (xxh3(concat({problem:String}, char(31))), xxh3(concat({bench:String}, char(31))))
        GROUP BY global_step
    ),
    -- A parameter that an adapter wraps has its name of before.
    parameters AS (
        SELECT
            run_id = xxh3(concat({problem:String}, char(31))) AS is_problem,
            version,
            replaceOne(replaceRegexpOne(w.name, '^base_model[.]model[.]', ''), '.base_layer.', '.') AS name,
            argMax((checksum, description), (event_time_ns, rank)) AS is
        FROM tap.weights AS w
        WHERE run_id IN (xxh3(concat({problem:String}, char(31))), xxh3(concat({bench:String}, char(31))))
        GROUP BY
            is_problem,
            version,
            name
    ),
    adapted AS (
        SELECT
            groupUniqArrayIf((version, module), is_problem = 1) AS in_problem,
            groupUniqArrayIf((version, module), is_problem = 0) AS in_bench
        FROM
        (
            SELECT
                is_problem,
                version,
                extract(name, '^(.+?)[.](?:lora_|adapter)') AS module
            FROM parameters
            WHERE module != ''
        )
    ),
    held AS (
        SELECT
            programs.global_step AS global_step,
            p.name AS name,
            tupleElement(p.is, 2) = tupleElement(b.is, 2) AS is_alike,
            is_alike AND tupleElement(p.is, 1) = tupleElement(b.is, 1) AS is_equal,
            extract(p.name, '^(.*)[.]') AS module,
            has((SELECT in_problem FROM adapted), (p.version, module)) AS is_adapted_in_problem,
            has((SELECT in_bench FROM adapted), (b.version, module)) AS is_adapted_in_bench
        FROM programs
        INNER JOIN parameters AS p ON p.version = assumeNotNull(programs.problem_version)
        INNER JOIN parameters AS b ON b.version = assumeNotNull(programs.bench_version) AND b.name = p.name
        WHERE isNotNull(programs.problem_version) AND isNotNull(programs.bench_version) AND p.is_problem = 1 AND b.is_problem = 0
    ),
    checked AS (
        SELECT
            global_step,
            countIf(is_alike) AS checked_count,
            arraySort(groupArrayIf(name, is_alike AND NOT is_equal AND is_adapted_in_problem = is_adapted_in_bench)) AS other_weights,
            arraySort(groupUniqArrayIf(module, is_equal AND is_adapted_in_problem > is_adapted_in_bench)) AS unmerged_in_bench,
            arraySort(groupUniqArrayIf(module, is_equal AND is_adapted_in_problem < is_adapted_in_bench)) AS unmerged_in_problem
        FROM held
        GROUP BY global_step
    ),
    answers AS (
        SELECT
            run_id = xxh3(concat({problem:String}, char(31))) AS is_problem,
            global_step,
            prompt_hash,
            sample,
            min(position) AS first_position,
            cityHash64(arrayMap(one -> one.2, arraySort(groupUniqArray((position, token_id))))) AS answer
        FROM tap.tokens
        WHERE run_id IN (xxh3(concat({problem:String}, char(31))), xxh3(concat({bench:String}, char(31))))
            AND global_step >= {first_step:Int64}
            AND ({last_step:Int64} = -1 OR global_step <= {last_step:Int64})
        GROUP BY
            is_problem,
            global_step,
            prompt_hash,
            sample
        HAVING uniqExact(position) >= 4
    ),
    -- Answers that both runs have, at no place that both name.
    moved AS (
        SELECT
            global_step,
            count() AS moved_count,
            min(first_in_problem) AS first_in_problem,
            min(first_in_bench) AS first_in_bench
        FROM
        (
            SELECT
                global_step,
                groupArrayIf((prompt_hash, sample, first_position), is_problem = 1) AS in_problem,
                groupArrayIf((prompt_hash, sample, first_position), is_problem = 0) AS in_bench,
                minIf(first_position, is_problem = 1) AS first_in_problem,
                minIf(first_position, is_problem = 0) AS first_in_bench
            FROM answers
            GROUP BY
                global_step,
                answer
            HAVING notEmpty(in_problem) AND notEmpty(in_bench) AND NOT hasAny(in_problem, in_bench)
        )
        GROUP BY global_step
    ),
    usual AS (
        SELECT tolerance
        FROM tap.token_tolerances
        WHERE run_id IN (xxh3(concat({problem:String}, char(31))), xxh3(concat({bench:String}, char(31))))
    ),
    computed AS (
        SELECT
            module_path,
            groupUniqArrayIf(layouts.dtype, seen.run_id = xxh3(concat({problem:String}, char(31)))) AS problem_dtypes,
            groupUniqArrayIf(layouts.dtype, seen.run_id = xxh3(concat({bench:String}, char(31)))) AS bench_dtypes
        FROM
        (
            SELECT
                run_id,
                site_id,
                layout_id
            FROM tap_store.tensor
            WHERE run_id IN (xxh3(concat({problem:String}, char(31))), xxh3(concat({bench:String}, char(31))))
            GROUP BY
                run_id,
                site_id,
                layout_id
        ) AS seen
        INNER JOIN (
            SELECT DISTINCT
                site_id,
                op_id,
                role
            FROM tap_store.site
        ) AS sites ON sites.site_id = seen.site_id
        INNER JOIN (
            SELECT DISTINCT
                op_id,
                module_path,
                level,
                phase
            FROM tap_store.op
        ) AS ops ON ops.op_id = sites.op_id
        INNER JOIN (
            SELECT DISTINCT
                layout_id,
                dtype
            FROM tap_store.layout
            WHERE kind = 'tensor' AND match(dtype, '(?i)float|half|double')
        ) AS layouts ON layouts.layout_id = seen.layout_id
        WHERE sites.role = 'output' AND ops.level = 'module' AND ops.phase = 'forward'
        GROUP BY module_path
        HAVING notEmpty(problem_dtypes) AND notEmpty(bench_dtypes) AND NOT hasAll(problem_dtypes, bench_dtypes)
    ),
    precisions AS (
        SELECT
            arraySort(groupArray(module_path)) AS modules,
            arrayStringConcat(arraySort(arrayDistinct(arrayFlatten(groupArray(problem_dtypes)))), ', ') AS here,
            arrayStringConcat(arraySort(arrayDistinct(arrayFlatten(groupArray(bench_dtypes)))), ', ') AS there
        FROM computed
    ),
    judged AS (
        SELECT
            steps.global_step AS step,
            paired_count,
            only_problem_count,
            only_bench_count,
            only_problem_prompt_count,
            only_bench_prompt_count,
            other_id_count,
            first_other_id,
            not_finite_count,
            usable_count,
            mean_difference,
            p99_difference,
            kl_k1,
            kl_k3,
            beyond_count,
            fit,
            slope,
            greater_count,
            less_count,
            growth,
            cached_token_count,
            cached_difference,
            uncached_difference,
            uncached_token_count,
            moved_count,
            first_in_problem,
            first_in_bench,
            unmerged_in_problem,
            unmerged_in_bench,
            multiIf(
                {tolerance:Float64} >= 0, {tolerance:Float64},
                (SELECT count() FROM usual) = 0, 2e-2,
                (SELECT max(tolerance) FROM usual)) AS allowed,
            usable_count > 0 AND (mean_difference > allowed) AS drifts,
            problem_version,
            bench_version,
            problem_temperature,
            bench_temperature,
            checked_count,
            other_weights,
            (SELECT modules FROM precisions) AS other_modules,
            cached_token_count > 0 AND cached_difference > allowed AS cached_drifts,
            min(if(cached_token_count > 0 AND NOT cached_drifts, problem_version, NULL)) OVER () AS flat_version,
            quantileExactIf(0.5)(fit * fit, drifts AND isFinite(fit)) OVER () AS usual_fit, -- squared, as is the share that a straight line explains
            minIf(step, drifts) OVER () AS first_drift,
            drifts AND checked_count = 0 AND first_drift > min(step) OVER () AS begins_late
        FROM steps
        LEFT JOIN programs ON programs.global_step = steps.global_step
        LEFT JOIN checked ON checked.global_step = steps.global_step
        LEFT JOIN moved ON moved.global_step = steps.global_step
    ),
    suspected AS (
        SELECT
            step,
            paired_count,
            only_problem_count,
            only_bench_count,
            other_id_count,
            not_finite_count,
            usable_count,
            mean_difference,
            p99_difference,
            kl_k1,
            kl_k3,
            beyond_count,
            allowed,
            drifts,
            problem_version,
            bench_version,
            checked_count,
            ifNull(
                drifts AND cached_drifts AND flat_version < problem_version
                AND (cached_difference > 10 * uncached_difference OR (uncached_token_count = 0 AND checked_count > 0 AND empty(other_weights))),
                0) AS is_stale,
            -- Cause, place, evidence, and whether there is any: the surest first.
            arrayFilter(one -> one.4, [
                ('chat template', '', concat(toString(moved_count), ' answers have the same tokens in both runs, and stand elsewhere: the first at position ', toString(first_in_problem), ' in problem, ', toString(first_in_bench), ' in bench, behind another prompt'), moved_count > 0),
                ('tokens', '', concat('no token has a partner: ', toString(only_problem_prompt_count), ' prompts are only in problem and ', toString(only_bench_prompt_count), ' only in bench, as of another chat template or tokenizer'), paired_count = 0 AND only_problem_count > 0 AND only_bench_count > 0),
                ('tokens', '', concat('ids differ in ', toString(other_id_count), ' of ', toString(paired_count), ' pairs, first at position ', toString(first_other_id)), other_id_count > 0),
                ('not finite', '', concat(toString(not_finite_count), ' log-probabilities are NaN or infinite in one run at least'), not_finite_count > 0),
                ('temperature', 'logits', concat('temperature ', toString(problem_temperature), ' in problem, ', toString(bench_temperature), ' in bench'), drifts AND ifNull(problem_temperature != bench_temperature, 0)),
                ('adapter', arrayStringConcat(arraySlice(unmerged_in_problem, 1, 3), ', '), concat('bench has adapters at ', toString(length(unmerged_in_problem)), ' modules, whose own parameters are those of problem: it lacks the adapters'), drifts AND notEmpty(unmerged_in_problem)),
                ('adapter', arrayStringConcat(arraySlice(unmerged_in_bench, 1, 3), ', '), concat('problem has adapters at ', toString(length(unmerged_in_bench)), ' modules, whose own parameters are those of bench: it lacks the adapters'), drifts AND notEmpty(unmerged_in_bench)),
                ('weights', arrayStringConcat(arraySlice(other_weights, 1, 3), ', '), concat('checksums of ', toString(length(other_weights)), ' of ', toString(checked_count), ' parameters differ, of update ', toString(problem_version), ' in problem and ', toString(bench_version), ' in bench'), drifts AND notEmpty(other_weights)),
                ('weights', '', concat('problem has the weights of update ', toString(problem_version), ', bench those of ', toString(bench_version)), drifts AND ifNull(problem_version != bench_version, 0) AND checked_count = 0),
                ('stale cache', 'attention', concat('tokens behind a cache of prefixes were flat with the weights of update ', toString(flat_version), ' and differ by ', toString(round(cached_difference, 6)), ' with those of ', toString(problem_version), if(uncached_token_count = 0, '', concat(', others by ', toString(round(uncached_difference, 6)))), ': its keys and values are of earlier weights'), is_stale),
                ('prefix cache', 'attention', concat('where tokens came from a cache of prefixes the mean difference is ', toString(round(cached_difference, 6)), ', elsewhere ', toString(round(uncached_difference, 6))), drifts AND cached_token_count > 0 AND cached_difference > 10 * uncached_difference AND uncached_difference <= allowed AND NOT is_stale),
                ('temperature', 'logits', concat('the difference follows the log-probability: ', toString(round(100 * fit * fit)), ' % of it by a factor of ', toString(round(1 + slope, 3)), ', as of a temperature of ', toString(round(1 / (1 + slope), 2))), drifts AND fit * fit >= 0.5 AND usual_fit >= 0.8 AND abs(slope) >= 0.02),
                ('precision', arrayStringConcat(arraySlice(other_modules, 1, 3), ', '), concat(toString(length(other_modules)), ' modules compute in ', (SELECT here FROM precisions), ' in problem, in ', (SELECT there FROM precisions), ' in bench'), drifts AND notEmpty(other_modules)),
                ('renormalised', 'logits', concat('all differences have one sign: as of top-k or top-p, after which one of the two does not renormalise'), drifts AND usable_count >= 30 AND least(greater_count, less_count) = 0),
                ('positions', 'attention', concat('the difference grows with position: correlation ', toString(round(growth, 2))), drifts AND growth >= 0.5)
            ]) AS causes,
            empty(causes) AND begins_late AS only_begins_late,
            first_drift
        FROM judged
    )
SELECT
    step,
    multiIf(paired_count = 0, 'nothing pairs', notEmpty(causes) OR drifts, 'drifts', 'flat') AS verdict,
    paired_count,
    only_problem_count + only_bench_count AS alone_count,
    if(usable_count = 0, NULL, mean_difference) AS mean_difference,
    if(usable_count = 0, NULL, p99_difference) AS p99_difference,
    if(usable_count = 0, NULL, kl_k1) AS kl_k1,
    if(usable_count = 0, NULL, kl_k3) AS kl_k3,
    if(usable_count = 0, NULL, beyond_count / usable_count) AS beyond_clip,
    multiIf(only_begins_late, 'weights', verdict = 'drifts' AND empty(causes), 'unknown', tupleElement(causes[1], 1)) AS cause,
    tupleElement(causes[1], 2) AS place,
    if(
        only_begins_late, concat('the first step that drifts is ', toString(first_drift), ', those before are flat, and no checksums of its weights are in both runs'),
        ifNull(tupleElement(causes[1], 3), '')) AS evidence,
    arrayStringConcat(arrayMap(one -> concat(one.1, ': ', one.3), arraySlice(causes, 2)), '; ') AS also,
    if(paired_count = 0, NULL, other_id_count / paired_count) AS other_ids,
    only_problem_count,
    only_bench_count,
    not_finite_count,
    problem_version,
    bench_version,
    checked_count,
    allowed AS tolerance
FROM suspected
ORDER BY step
LIMIT {limit:UInt64}
