-- Question: what is said about a run, property by property?
-- Grain: one row per run, property that is known
-- Reads: tap.runs, tap.main_dtypes, tap.ranks
-- Empty when: no run was published
SELECT
    runs.run_id AS run_id,
    name AS run,
    said.1 AS property,
    said.2 AS value
FROM tap.runs AS runs
LEFT ANY JOIN tap.main_dtypes AS main ON main.run_id = runs.run_id
LEFT ANY JOIN
(
    SELECT
        run_id,
        arrayStringConcat(arraySort(groupUniqArray(host)), ', ') AS names
    FROM tap.ranks
    WHERE host != ''
    GROUP BY run_id
) AS hosts ON hosts.run_id = runs.run_id
ARRAY JOIN arrayFilter(pair -> pair.2 != '', arrayConcat(
    [
        ('model', model),
        ('framework', framework),
        ('framework_version', framework_version),
        ('engine', engine),
        ('engine_version', engine_version),
        ('world_size', ifNull(toString(world_size), '')),
        ('dtype', runs.dtype),
        ('seed', ifNull(toString(seed), '')),
        ('source', source),
        ('level', level),
        ('task', task),
        ('host', if(runs.host != '', runs.host, hosts.names)),
        ('commit', `commit`),
        ('config', if(isValidJSON(config) AND JSONType(config) = 'Object', '', config)),
        ('event_time_source', event_time_source),
        ('tensor dtype', main.dtype),
        ('ranks', toString(rank_count)),
        ('steps', toString(step_count))
    ],
    -- A configuration in JSON is told key by key, so that a difference names the key.
    arrayMap(pair -> (concat('config ', pair.1), pair.2), JSONExtractKeysAndValuesRaw(config)),
    arrayMap((key, value) -> (concat('label ', key), value), mapKeys(labels), mapValues(labels)))) AS said
