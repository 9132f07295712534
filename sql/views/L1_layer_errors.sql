-- Question: how far did the runs lie apart at each step, layer by layer?
-- Grain: one row per comparison, rank, step, direction, layer; judgings of what was replaced are hidden
-- Reads: tap_store.layer_error, tap.kept_judgings, tap_store.site, tap_store.op
-- Empty when: nothing was measured on both sides
SELECT
    e.comparison_id AS comparison_id,
    e.run_id AS run_id,
    e.rank AS rank,
    e.step AS step,
    e.direction AS direction,
    e.layer_index AS layer_index,
    e.path AS path,
    e.paired_count AS paired_count,
    e.differing_count AS differing_count,
    e.not_finite_count AS not_finite_count,
    e.greatest_error AS greatest_error,
    e.median_error AS median_error,
    o.name AS op,
    e.provisional AS provisional
FROM tap_store.layer_error AS e
INNER JOIN tap.kept_judgings AS kept
    ON kept.comparison_id = e.comparison_id AND kept.rank = e.rank AND kept.step = e.step AND kept.epoch = e.epoch
LEFT ANY JOIN tap_store.site AS s ON s.site_id = e.greatest_site_id
LEFT ANY JOIN tap_store.op AS o ON o.op_id = s.op_id
