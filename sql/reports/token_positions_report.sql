-- Question: at which positions are the tokens of two runs apart at one place of the model, by how much, and which is the furthest?
-- Grain: one row per range of positions in which tokens pair, in order
-- Reads: tap.first_tokens
-- Empty when: no token of both runs pairs there
-- Parameter problem: name of the run that is looked into.
-- Parameter bench: name of the run that is held to be right.
-- Parameter layer = 0: number of the layer, as the report tokens has it.
-- Parameter site = 'embedding': embedding, attention, router, residual stream or logits.
-- Parameter width = 200: greatest number of ranges.
-- Parameter limit = 10000: greatest number of rows.
-- Tokens pair, and their errors are, as in the report tokens. An error that is not finite is in max_error alone.
WITH
    indexOf(['embedding', 'attention', 'router', 'residual stream', 'logits'], {site:String}) AS wanted,
    pairs AS (
        SELECT
            p.prompt_hash AS prompt_hash,
            p.sample AS sample,
            p.position AS position,
            multiIf(
                NOT (isFinite(p.norm) AND isFinite(b.norm)), if(p.nan_count = b.nan_count AND p.nan_count > 0, 0., inf),
                b.norm = 0, if(p.norm = 0, 0., inf),
                greatest(
                    sqrt((pow(p.component_0 - b.component_0, 2) + pow(p.component_1 - b.component_1, 2) + pow(p.component_2 - b.component_2, 2) + pow(p.component_3 - b.component_3, 2)) / 4),
                    toFloat64(abs(p.norm - b.norm))) / b.norm) AS error
        FROM tap.first_tokens(run = {problem:String}) AS p
        INNER JOIN tap.first_tokens(run = {bench:String}) AS b ON b.prompt_hash = p.prompt_hash AND b.sample = p.sample AND b.position = p.position
        WHERE p.layer = {layer:UInt64} AND p.place = wanted AND b.layer = {layer:UInt64} AND b.place = wanted
    ),
    (SELECT greatest(1, intDiv(max(position), greatest(1, {width:UInt64})) + 1) FROM pairs) AS size
SELECT
    min(position) AS first_position,
    max(position) AS last_position,
    count() AS paired_count,
    if(countIf(isFinite(error)) = 0, NULL, avgIf(error, isFinite(error))) AS mean_error,
    max(error) AS max_error,
    tupleElement(argMax((position, prompt_hash, sample), (error, prompt_hash, sample, position)) AS worst, 1) AS worst_position,
    leftPad(lower(hex(tupleElement(worst, 2))), 16, '0') AS worst_prompt,
    tupleElement(worst, 3) AS worst_sample
FROM pairs
GROUP BY intDiv(position, size)
ORDER BY first_position
LIMIT {limit:UInt64}
