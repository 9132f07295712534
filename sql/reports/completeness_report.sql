-- Question: is everything stored that each rank of a run, or of several, produced, and what was lost where?
-- Grain: one row per run, rank that was published, stored, refused or expected by the world size
-- Reads: tap.completeness, tap.undefined_ids
-- Empty when: the run is not known
-- Shown: run, rank, complete, explanation, step_count, produced_row_count, stored_row_count, dropped_count, unseen, last_event_time_ns
-- Parameter run: name of the run.
-- Parameter others = []: names of further runs, whose ranks follow.
-- Parameter unstored = []: steps that were published and are not stored, of which the tables cannot know: run, rank, how many.
WITH
    arrayConcat([{run:String}], {others:Array(String)}) AS names,
    arrayMap(name -> xxh3(concat(name, char(31))), names) AS run_ids,
    known.run = '' AS absent, -- the tables have nothing at all of the rank
    known AS (
        SELECT
            run_id,
            run,
            rank,
            complete,
            explanation,
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
            last_event_time_ns
        FROM tap.completeness
        WHERE run_id IN run_ids
    ),
    unstored AS (
        SELECT
            tupleElement(lost, 1) AS run_id,
            tupleElement(lost, 2) AS rank,
            tupleElement(lost, 3) AS unstored_step_count
        FROM (
            SELECT arrayJoin({unstored:Array(Tuple(UInt64, UInt32, UInt64))}) AS lost
        )
    ),
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
    if(absent, names[indexOf(run_ids, run_id)], known.run) AS run,
    rank,
    known.complete AND undefined_id_count + unstored_step_count = 0 AS complete,
    arrayStringConcat(arrayFilter(part -> part != '', [
        if(absent, 'nothing was stored', known.explanation),
        if(undefined_id_count > 0, concat(toString(undefined_id_count), ' ids are not defined'), ''),
        if(unstored_step_count > 0, concat(toString(unstored_step_count), ' steps that were published are not stored'), '')
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
    unstored_step_count,
    last_event_time_ns
FROM known
FULL OUTER JOIN unstored USING (run_id, rank)
LEFT ANY JOIN undefined USING (run_id, rank)
ORDER BY
    indexOf(run_ids, run_id),
    rank
