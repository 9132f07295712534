-- Question: for which ranks do collectives of live runs wait, and since when?
-- Grain: one row per run, process_group, group_seq that some rank of it has called and another has not
-- Reads: tap.collectives, tap.live_ranks
-- Empty when: all ranks arrived, no rank is alive, or a person holds one up
-- The report hang says more of one run: what the missing ranks do, and which calls do not fit each other.
WITH
    live AS (
        SELECT
            run_id,
            any(l.run) AS run
        FROM tap.live_ranks AS l
        GROUP BY run_id
        HAVING max(l.debugged) = 0
    ),
    called AS (
        SELECT
            c.run_id AS run_id,
            c.process_group AS process_group,
            c.group_seq AS group_seq,
            any(c.name) AS name,
            min(c.called_time_ns) AS called_time_ns,
            arraySort(groupUniqArray(toInt64(c.rank))) AS waiting_ranks,
            arraySort(any(c.group_ranks)) AS members,
            countIf(c.state != 'completed') AS open_count
        FROM tap.collectives AS c
        WHERE c.point_to_point = 0
        GROUP BY
            run_id,
            process_group,
            group_seq
    )
SELECT
    called.run_id AS run_id,
    live.run AS run,
    called.process_group AS process_group,
    called.group_seq AS group_seq,
    called.name AS name,
    called.called_time_ns AS called_time_ns,
    called.waiting_ranks AS waiting_ranks,
    arrayFilter(member -> NOT has(called.waiting_ranks, member), called.members) AS missing_ranks
FROM called
INNER JOIN live ON live.run_id = called.run_id
WHERE notEmpty(missing_ranks) AND called.open_count > 0
