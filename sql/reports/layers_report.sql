-- Question: how far do the runs lie apart, layer by layer?
-- Grain: one row per direction, layer of the model; what is outside of layers comes first, with an empty layer
-- Reads: tap.verdicts, tap.sites, tap.ops, tap.programs, tap.steps
-- Empty when: nothing was measured on both sides
-- Parameter problem: name of the run under suspicion.
-- Parameter bench: name of the run it is held against.
-- Parameter benches = []: names of further bench runs; from three on in all, their spread is the tolerance.
-- Parameter tolerance = -1: greatest relative error that is tolerated; -1 for one by dtype and depth.
-- Parameter tolerances = []: rules (op pattern, dtype pattern, tolerance) that go before it, the first that fits counts.
-- Parameter rank = -1: only this rank of the problem; -1 for all.
-- Parameter first_step = 0: first step of the problem.
-- Parameter last_step = -1: last step of the problem; -1 for all.
-- Parameter step_offset = 0: what to add to a step of the problem for that of the bench.
-- Errors are those of the evidence at hand: of statistics they are lower bounds. What was saved by name, of a layer and in
-- no module, is of the layer whose path has that number, or, where there is not one, of layers and the number.
WITH
    by_site AS (
        SELECT
            site_id,
            count() AS paired_count,
            countIf(differs) AS differing_count,
            countIf(numeric = 'not_finite' AND differs) AS not_finite_count,
            maxIf(error, isFinite(error)) AS greatest_error
        FROM tap.verdicts(problem = {problem:String}, bench = {bench:String}, benches = {benches:Array(String)}, tolerance = {tolerance:Float64}, tolerances = {tolerances:Array(Tuple(String, String, Float64))}, rank = {rank:Int64}, first_step = {first_step:Int64}, last_step = {last_step:Int64}, step_offset = {step_offset:Int64})
        WHERE problem_present AND bench_present AND evidence NOT IN ('none', 'literal')
        GROUP BY site_id
    ),
    parents AS (
        SELECT
            op_id,
            max(parent_op_id) AS parent_op_id
        FROM tap.programs
        WHERE program_id IN (
            SELECT program_id
            FROM tap.steps
            WHERE run_id = xxh3(concat({problem:String}, char(31)))
        )
        GROUP BY op_id
    ),
    by_path AS (
        SELECT
            if(op.phase IN ('backward', 'gradient', 'optimizer'), 'backward', 'forward') AS direction,
            if(op.layer_index >= 0 OR parent.op_id = 0, op.layer_index, parent.layer_index) AS layer_index,
            if(layer_index < 0, '', extract(if(op.layer_index >= 0, op.module_path, parent.module_path), '^(.*?[0-9]+)(?:\\.|$)')) AS path,
            sum(by_site.paired_count) AS paired_count,
            sum(by_site.differing_count) AS differing_count,
            sum(by_site.not_finite_count) AS not_finite_count,
            max(by_site.greatest_error) AS greatest_error
        FROM by_site
        LEFT ANY JOIN tap.sites AS site ON site.site_id = by_site.site_id
        LEFT ANY JOIN tap.ops AS op ON op.op_id = site.op_id
        LEFT ANY JOIN parents ON parents.op_id = op.op_id
        LEFT ANY JOIN tap.ops AS parent ON parent.op_id = parents.parent_op_id
        GROUP BY
            direction,
            layer_index,
            path
    )
SELECT
    direction,
    layer_index,
    multiIf(layer_index < 0, '', path != '', path, length(known_paths) = 1, known_paths[1], concat('layers.', toString(layer_index))) AS layer,
    sum(b.paired_count) AS paired_count,
    sum(b.differing_count) AS differing_count,
    sum(b.not_finite_count) AS not_finite_count,
    max(b.greatest_error) AS greatest_error
FROM
(
    SELECT
        direction,
        layer_index,
        path,
        groupUniqArrayIf(by_path.path, by_path.path != '') OVER (PARTITION BY layer_index) AS known_paths,
        paired_count,
        differing_count,
        not_finite_count,
        greatest_error
    FROM by_path
) AS b
GROUP BY
    direction,
    layer_index,
    layer
ORDER BY
    direction DESC,
    if(direction = 'forward', layer_index, -layer_index),
    layer
