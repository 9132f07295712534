-- Question: do the log-probabilities of two programs that run one model drift apart, as a rollout's from its trainer's, since which step and why?
-- Grain: one row per step of the trainer in which either run has tokens
-- Reads: tap.tokens, tap.token_pairs, tap.parameter_checksums, tap.module_dtypes, tap.token_tolerances
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
    steps AS (
        SELECT
            global_step,
            countIf(is_pair) AS paired_count,
            countIf(NOT in_bench) AS only_problem_count,
            countIf(NOT in_problem) AS only_bench_count,
            uniqExactIf(prompt_hash, NOT in_bench) AS only_problem_prompt_count,
            uniqExactIf(prompt_hash, NOT in_problem) AS only_bench_prompt_count,
            countIf(is_pair AND NOT same_id) AS other_id_count,
            minIf(position, is_pair AND NOT same_id) AS first_other_id,
            countIf(is_pair AND same_id AND NOT isFinite(difference)) AS not_finite_count,
            countIf(usable) AS usable_count,
            avgIf(abs(difference), usable) AS mean_difference,
            quantileExactIf(0.99)(abs(difference), usable) AS p99_difference,
            avgIf(difference, usable) AS kl_k1,
            avgIf(exp(-difference) - 1 + difference, usable) AS kl_k3,
            countIf(usable AND abs(exp(-difference) - 1) > {clip:Float64}) AS beyond_count,
            corrIf(difference, bench_log_probability, usable) AS fit,
            covarPopIf(difference, bench_log_probability, usable) / varPopIf(bench_log_probability, usable) AS slope,
            countIf(usable AND difference > 0) AS greater_count,
            countIf(usable AND difference < 0) AS less_count,
            corrIf(abs(difference), toFloat64(position), usable) AS growth,
            countIf(usable AND cached_count > 0) AS cached_token_count,
            countIf(usable AND cached_count = 0) AS uncached_token_count,
            avgIf(abs(difference), usable AND cached_count > 0) AS cached_difference,
            avgIf(abs(difference), usable AND cached_count = 0) AS uncached_difference
        FROM tap.token_pairs(problem = {problem:String}, bench = {bench:String})
        WHERE global_step >= {first_step:Int64} AND ({last_step:Int64} = -1 OR global_step <= {last_step:Int64})
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
    held AS (
        SELECT
            programs.global_step AS global_step,
            p.name AS name,
            p.module AS module,
            p.description = b.description AS is_alike,
            is_alike AND p.checksum = b.checksum AS is_equal,
            p.is_adapted AS is_adapted_in_problem,
            b.is_adapted AS is_adapted_in_bench
        FROM programs
        INNER JOIN tap.parameter_checksums(run = {problem:String}) AS p ON p.version = assumeNotNull(programs.problem_version)
        INNER JOIN tap.parameter_checksums(run = {bench:String}) AS b ON b.version = assumeNotNull(programs.bench_version) AND b.name = p.name
        WHERE isNotNull(programs.problem_version) AND isNotNull(programs.bench_version)
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
            p.module_path AS module_path,
            p.dtypes AS problem_dtypes,
            b.dtypes AS bench_dtypes
        FROM tap.module_dtypes(run = {problem:String}) AS p
        INNER JOIN tap.module_dtypes(run = {bench:String}) AS b ON b.module_path = p.module_path
        WHERE NOT hasAll(problem_dtypes, bench_dtypes)
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
