-- Question: how is each run: alive, whole, and the same as the run that it is held against?
-- Grain: one row per run, latest first
-- Reads: tap.run_overviews, tap.runs
-- Empty when: no run was published
-- Shown: run, status, complete, verdict, bench, first_step, first_rank, first_op, model, rank_count, step_count, last_event_time_ns
-- Parameter limit = 1000: greatest number of rows.
-- Of several comparisons of a run the one that was asked for last counts.
SELECT
    o.run AS run,
    o.status AS status,
    o.source AS source,
    described.level AS level,
    o.model AS model,
    o.framework AS framework,
    described.dtype AS dtype,
    described.world_size AS world_size,
    o.rank_count AS rank_count,
    o.step_count AS step_count,
    o.last_step AS last_step,
    o.first_event_time_ns AS first_event_time_ns,
    o.last_event_time_ns AS last_event_time_ns,
    o.complete AS complete,
    o.incomplete_rank_count AS incomplete_rank_count,
    o.explanation AS explanation,
    o.dropped_count AS dropped_count,
    o.bench AS bench,
    o.verdict AS verdict,
    o.first_step AS first_step,
    o.first_rank AS first_rank,
    o.first_op AS first_op,
    o.differing_count AS differing_count,
    o.labels AS labels
FROM tap.run_overviews AS o
LEFT ANY JOIN tap.runs AS described ON described.run_id = o.run_id
ORDER BY
    last_event_time_ns DESC,
    run
LIMIT {limit:UInt64}
