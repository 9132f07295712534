-- Question: at which tensors of which ops are NaN, infinity or chance values no fault?
-- Grain: one row per site, sort of exception
-- Reads: tap.sites, tap.ops, tap.known_exceptions
-- Empty when: no op that is known has an exception
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
    CROSS JOIN tap.known_exceptions AS exception
    WHERE match(op.class_or_api, exception.api)
) AS excused ON excused.op_id = site.op_id
WHERE excused.role IN ('', site.role)
    AND match(site.path, excused.path)
