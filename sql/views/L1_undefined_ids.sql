-- Question: which ids do stored measurements refer to that nothing defines?
-- Grain: one row per run, rank, kind of definition, id
-- Reads: tap_store.tensor, tap_store.step, tap_store.site, tap_store.layout, tap_store.program
-- Empty when: every definition has arrived
SELECT DISTINCT
    run_id,
    rank,
    'site' AS kind,
    site_id AS id
FROM tap_store.tensor
WHERE site_id NOT IN (
    SELECT site_id
    FROM tap_store.site
)
UNION ALL
SELECT DISTINCT
    run_id,
    rank,
    'layout' AS kind,
    layout_id AS id
FROM tap_store.tensor
WHERE layout_id NOT IN (
    SELECT layout_id
    FROM tap_store.layout
)
UNION ALL
SELECT DISTINCT
    run_id,
    rank,
    'program' AS kind,
    program_id AS id
FROM tap_store.step
WHERE program_id != 0 AND program_id NOT IN (
    SELECT program_id
    FROM tap_store.program
)
