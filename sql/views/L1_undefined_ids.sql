-- Question: which ids do stored measurements refer to, themselves or through a definition, that nothing defines?
-- Grain: one row per run, rank, kind of definition, id; of a missing rank the id is its number
-- Reads: tap_store.tensor, tap_store.step, tap_store.call, tap_store.failure, tap_store.site, tap_store.layout, tap_store.program, tap_store.program_stack, tap_store.op, tap_store.stack, tap_store.tally, tap_store.signature, tap_store.rank
-- Empty when: every definition has arrived
WITH
    -- Few or none: tables of measurements are read only for what refers to these.
    sites_without_op AS (
        SELECT
            site_id,
            op_id
        FROM tap_store.site
        WHERE op_id NOT IN (
            SELECT op_id
            FROM tap_store.op
        )
    ),
    programs_without_op AS (
        SELECT
            program_id,
            arrayJoin([op_id, parent_op_id]) AS missing_op_id
        FROM tap_store.program
        WHERE missing_op_id != 0 AND missing_op_id NOT IN (
            SELECT op_id
            FROM tap_store.op
        )
    ),
    programs_without_stack AS (
        SELECT
            run_id,
            program_id,
            stack_id
        FROM tap_store.program_stack
        WHERE stack_id NOT IN (
            SELECT stack_id
            FROM tap_store.stack
        )
    ),
    tallies_without_signature AS (
        SELECT
            tally_id,
            signature_id
        FROM tap_store.tally
        WHERE signature_id NOT IN (
            SELECT signature_id
            FROM tap_store.signature
        )
    )
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
UNION ALL
SELECT DISTINCT
    run_id,
    rank,
    'tally' AS kind,
    tally_id AS id
FROM tap_store.call
WHERE tally_id NOT IN (
    SELECT tally_id
    FROM tap_store.tally
)
UNION ALL
SELECT DISTINCT
    run_id,
    rank,
    'rank' AS kind,
    toUInt64(rank) AS id
FROM tap_store.step
WHERE (run_id, rank) NOT IN (
    SELECT
        run_id,
        rank
    FROM tap_store.rank
)
UNION ALL
SELECT DISTINCT
    run_id,
    rank,
    'op' AS kind,
    id
FROM (
    SELECT
        run_id,
        rank,
        lacking.op_id AS id
    FROM tap_store.tensor AS measured
    INNER JOIN sites_without_op AS lacking ON lacking.site_id = measured.site_id
    WHERE site_id IN (
        SELECT site_id
        FROM sites_without_op
    )
    UNION ALL
    SELECT
        run_id,
        rank,
        lacking.missing_op_id AS id
    FROM tap_store.step AS stepped
    INNER JOIN programs_without_op AS lacking ON lacking.program_id = stepped.program_id
    UNION ALL
    SELECT
        run_id,
        rank,
        op_id AS id
    FROM tap_store.failure
    WHERE op_id != 0 AND op_id NOT IN (
        SELECT op_id
        FROM tap_store.op
    )
)
UNION ALL
SELECT DISTINCT
    run_id,
    rank,
    'stack' AS kind,
    id
FROM (
    SELECT
        stepped.run_id AS run_id,
        rank,
        lacking.stack_id AS id
    FROM tap_store.step AS stepped
    INNER JOIN programs_without_stack AS lacking ON lacking.run_id = stepped.run_id AND lacking.program_id = stepped.program_id
    UNION ALL
    SELECT
        run_id,
        rank,
        stack_id AS id
    FROM tap_store.failure
    WHERE stack_id != 0 AND stack_id NOT IN (
        SELECT stack_id
        FROM tap_store.stack
    )
)
UNION ALL
SELECT DISTINCT
    run_id,
    rank,
    'signature' AS kind,
    lacking.signature_id AS id
FROM tap_store.call AS called
INNER JOIN tallies_without_signature AS lacking ON lacking.tally_id = called.tally_id
