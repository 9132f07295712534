-- Question: by which rules is each tensor of a comparison judged?
-- Grain: one row per site of the programs of either run
-- Reads: tap.sites, tap.ops, tap.programs, tap.steps, tap.observations, tap.known_exceptions, tap_store.op, tap_store.tensor, tap.superseded_steps
-- Empty when: neither run has a step
-- Parameter problem: name of the run under suspicion.
-- Parameter bench: name of the run it is held against.
-- Parameter benches = []: names of further bench runs, whose spread is the tolerance.
-- Parameter tolerances = []: rules (op or module pattern, dtype pattern, tolerance); * stands for any text.
-- Tolerated round-offs are 4 sqrt(depth) units: depth counts the layers that an error may have come through, which is
-- the index of the module's layer from 1, backward as many more as lie behind it; outside of layers it is their number,
-- and 32 where a program has none.
WITH
    (
        SELECT groupArray((api, role, path, known_exceptions.sort))
        FROM tap.known_exceptions AS known_exceptions
    ) AS exceptions,
    program_ops AS (
        SELECT
            op_id,
            max(parent_op_id) AS parent_op_id
        FROM tap.programs
        WHERE program_id IN (
            SELECT program_id
            FROM tap.steps
            WHERE run_id IN (xxh3(concat({problem:String}, char(31))), xxh3(concat({bench:String}, char(31))))
        )
        GROUP BY op_id
    ),
    placed_ops AS (
        SELECT
            op.op_id AS op_id,
            op.name AS op_name,
            if(op.module_path = '', parent.module_path, op.module_path) AS module,
            op.class_or_api AS api,
            op.phase IN ('backward', 'gradient', 'optimizer') AS goes_back,
            if(op.layer_index >= 0 OR parent.op_id = 0, op.layer_index, parent.layer_index) AS layer
        FROM tap.ops AS op
        INNER JOIN program_ops ON program_ops.op_id = op.op_id
        LEFT ANY JOIN tap.ops AS parent ON parent.op_id = program_ops.parent_op_id
    ),
    (
        SELECT if(max(layer) < 0, 32, max(layer) + 1)
        FROM placed_ops
    ) AS layer_count,
    -- How far the bench runs lie apart at each site: the errors of all others against the first.
    spread AS (
        SELECT
            site_id,
            avg(spread_error) AS band_mean,
            stddevSamp(spread_error) AS band_deviation,
            uniqExact(other_run_id) + 1 AS band_run_count
        FROM
        (
            SELECT
                base.site_id AS site_id,
                other.run_id AS other_run_id,
                greatest(
                    abs(other.value_l2 - base.value_l2),
                    abs(other.value_max - base.value_max),
                    abs(other.value_min - base.value_min),
                    abs(other.value_mean - base.value_mean) * sqrt(base.element_count)) / base.value_l2 AS spread_error
            FROM tap.observations(run = {bench:String}, rank = -1, first_step = 0, last_step = -1) AS base
            INNER JOIN tap_store.tensor AS other ON other.site_id = base.site_id AND other.rank = base.rank AND other.step = base.step
            WHERE notEmpty({benches:Array(String)})
                AND other.run_id IN arrayMap(name -> xxh3(concat(name, char(31))), {benches:Array(String)})
                AND bitAnd(base.measured, 23) = 23
                AND bitAnd(other.measured, 23) = 23
                AND (other.run_id, other.rank, other.step, other.epoch) NOT IN (
                    SELECT
                        run_id,
                        rank,
                        step,
                        epoch
                    FROM tap.superseded_steps
                )
        )
        WHERE isFinite(spread_error)
        GROUP BY site_id
    ),
    -- Patterns are costly, and there are few APIs.
    excused_apis AS (
        SELECT
            excused_api,
            arrayFilter(known -> match(excused_api, known.1), exceptions) AS api_exceptions
        FROM
        (
            SELECT DISTINCT class_or_api AS excused_api
            FROM tap_store.op
        )
    ),
    arrayMap(rule -> (replaceAll(replaceRegexpAll(rule.1, '[%_\\\\]', '\\\\\\0'), '*', '%'), replaceAll(replaceRegexpAll(rule.2, '[%_\\\\]', '\\\\\\0'), '*', '%'), rule.3), {tolerances:Array(Tuple(String, String, Float64))}) AS tolerance_rules
SELECT
    site.site_id AS site_id,
    4 * sqrt(multiIf(placed_ops.layer < 0, layer_count, goes_back, 2 * layer_count - placed_ops.layer, placed_ops.layer + 1)) AS tolerated_roundoffs,
    arrayMap(rule -> (rule.2, rule.3), arrayFilter(rule -> op_name LIKE rule.1 OR module LIKE rule.1, tolerance_rules)) AS rules,
    arrayFirst(known -> known.2 IN ('', site.role) AND match(site.path, known.3), excused_apis.api_exceptions).4 AS exception_sort,
    if(spread.band_run_count < 3, nan, spread.band_mean) AS band_mean,
    spread.band_deviation AS band_deviation,
    spread.band_run_count AS band_run_count
FROM tap.sites AS site
INNER JOIN placed_ops ON placed_ops.op_id = site.op_id
LEFT ANY JOIN excused_apis ON excused_apis.excused_api = placed_ops.api
LEFT ANY JOIN spread ON spread.site_id = site.site_id
