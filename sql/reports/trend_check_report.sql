-- Question: of which steps does tap_store.trend hold something else than tensor?
-- Grain: one row per run, step, by name of the run, then step
-- Reads: tap.trend_steps, tap.runs
-- Empty when: all is well
-- Parameter limit = 1000: greatest number of rows.
-- Such steps are read from tensor, so that answers are right all the same; `tensortap up` adds them up again, at its start and every ten minutes.
SELECT
    if(run.name = '', leftPad(lower(hex(trend.run_id)), 16, '0'), run.name) AS run,
    trend.step AS step,
    rank_count,
    row_count,
    kept_row_count
FROM tap.trend_steps AS trend
LEFT ANY JOIN tap.runs AS run ON run.run_id = trend.run_id
WHERE state = 'wrong'
ORDER BY
    run,
    step,
    trend.run_id
LIMIT {limit:UInt64}
