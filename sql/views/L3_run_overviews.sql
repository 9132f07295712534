-- Question: how is each run: alive, whole, and the same as the run that it is held against?
-- Grain: one row per run
-- Reads: tap.runs, tap.completeness, tap.judged_runs
-- Empty when: no run was published
-- Of several comparisons of a run the one that was asked for last counts.
WITH
    whole AS (
        SELECT
            run_id,
            min(c.complete) AS complete,
            countIf(NOT c.complete) AS incomplete_rank_count,
            argMinIf(concat('rank ', toString(c.rank), ': ', c.explanation), c.rank, NOT c.complete) AS explanation,
            sum(c.stored_row_count) AS stored_row_count,
            sum(c.dropped_count) AS dropped_count
        FROM tap.completeness AS c
        GROUP BY run_id
    ),
    held AS (
        SELECT
            problem,
            argMax((j.bench, j.comparison, j.verdict, j.first_step, j.first_rank, j.first_op, j.differing_count), j.declared_time_ns) AS latest
        FROM tap.judged_runs AS j
        GROUP BY problem
    )
SELECT
    r.run_id AS run_id,
    r.name AS run,
    r.status AS status,
    r.source AS source,
    r.model AS model,
    r.framework AS framework,
    r.labels AS labels,
    r.rank_count AS rank_count,
    r.step_count AS step_count,
    r.last_step AS last_step,
    r.first_event_time_ns AS first_event_time_ns,
    r.last_event_time_ns AS last_event_time_ns,
    ifNull(whole.complete, 0) AS complete,
    whole.incomplete_rank_count AS incomplete_rank_count,
    whole.explanation AS explanation,
    whole.stored_row_count AS stored_row_count,
    whole.dropped_count AS dropped_count,
    tupleElement(held.latest, 1) AS bench,
    tupleElement(held.latest, 2) AS comparison,
    if(tupleElement(held.latest, 3) = '', 'no bench', tupleElement(held.latest, 3)) AS verdict,
    tupleElement(held.latest, 4) AS first_step,
    tupleElement(held.latest, 5) AS first_rank,
    tupleElement(held.latest, 6) AS first_op,
    tupleElement(held.latest, 7) AS differing_count
FROM tap.runs AS r
LEFT JOIN whole ON whole.run_id = r.run_id
LEFT JOIN held ON held.problem = r.name
