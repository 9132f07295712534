-- Question: at which tensors of which ops are NaN, infinity or chance values no fault?
-- Grain: one row per site, sort of exception
-- Reads: tap.sites, tap.ops, tap.known_exceptions, tap_store.op
-- Empty when: no op that is known has an exception
-- Patterns are held against APIs, of which there are few, not against every op.
SELECT DISTINCT
    site.site_id AS site_id,
    excused.sort AS sort
FROM tap.sites AS site
INNER JOIN
(
    SELECT
        op.op_id AS op_id,
        exception.role AS role,
        exception.path AS path,
        exception.sort AS sort
    FROM tap.ops AS op
    INNER JOIN
    (
        SELECT
            used.api AS api,
            known.role AS role,
            known.path AS path,
            known.sort AS sort
        FROM
        (
            SELECT DISTINCT class_or_api AS api
            FROM tap_store.op
        ) AS used
        CROSS JOIN tap.known_exceptions AS known
        WHERE match(used.api, known.api)
    ) AS exception ON exception.api = op.class_or_api
) AS excused ON excused.op_id = site.op_id
WHERE excused.role IN ('', site.role)
    AND match(site.path, excused.path)
