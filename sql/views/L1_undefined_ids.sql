-- Question: which ids do stored measurements refer to, themselves or through a definition, that nothing defines?
-- Grain: one row per run, rank, kind of definition, id; of a missing rank the id is its number
-- Reads: tap.undefined_references, tap_store.tensor, tap_store.site, tap_store.layout
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
SELECT
    run_id,
    rank,
    kind,
    id
FROM tap.undefined_references
