-- Question: is everything stored that each rank of a run, or of several, produced, and what was lost where?
-- Grain: one row per run, rank that was published, stored, refused or expected by the world size
-- Reads: tap.completeness, tap.undefined_ids
-- Empty when: the run is not known
-- Shown: run, rank, complete, explanation, step_count, produced_row_count, stored_row_count, dropped_count, last_event_time_ns
-- Parameter run: name of the run.
-- Parameter others = []: names of further runs, whose ranks follow.
WITH
    arrayMap(name -> xxh3(concat(name, char(31))), arrayConcat([{run:String}], {others:Array(String)})) AS run_ids,
    undefined AS (
        SELECT
            run_id,
            rank,
            count() AS undefined_id_count
        FROM tap.undefined_ids
        WHERE run_id IN run_ids
        GROUP BY
            run_id,
            rank
    )
SELECT
    run,
    completeness.rank AS rank,
    completeness.complete AND undefined_id_count = 0 AS complete,
    arrayStringConcat(arrayFilter(part -> part != '', [
        completeness.explanation,
        if(undefined_id_count > 0, concat(toString(undefined_id_count), ' ids are not defined'), '')
    ]), ', ') AS explanation,
    step_count,
    incomplete_step_count,
    produced_row_count,
    stored_row_count,
    dropped_count,
    drop_reasons,
    unseen,
    batch_count,
    missing_batch_count,
    dead_letter_count,
    undefined_id_count,
    last_event_time_ns
FROM tap.completeness AS completeness
LEFT ANY JOIN undefined ON undefined.run_id = completeness.run_id AND undefined.rank = completeness.rank
WHERE completeness.run_id IN run_ids
ORDER BY
    indexOf(run_ids, completeness.run_id),
    rank
