-- Question: what is said about a run, property by property?
-- Grain: one row per run, property that is known
-- Reads: tap.runs
-- Empty when: no run was published
SELECT
    run_id,
    name AS run,
    said.1 AS property,
    said.2 AS value
FROM tap.runs
ARRAY JOIN arrayFilter(pair -> pair.2 != '', arrayConcat(
    [
        ('model', model),
        ('framework', framework),
        ('framework_version', framework_version),
        ('engine', engine),
        ('engine_version', engine_version),
        ('world_size', ifNull(toString(world_size), '')),
        ('dtype', dtype),
        ('seed', ifNull(toString(seed), '')),
        ('source', source),
        ('level', level),
        ('task', task),
        ('host', host),
        ('commit', `commit`),
        ('config', config),
        ('event_time_source', event_time_source),
        ('ranks', toString(rank_count)),
        ('steps', toString(step_count))
    ],
    arrayMap((key, value) -> (concat('label ', key), value), mapKeys(labels), mapValues(labels)))) AS said
