-- Question: on which ranks did an event come after another rank's, as far as their meetings tell?
-- Grain: one row per rank whose event another one precedes
-- Reads: tap.meetings
-- Empty when: no event precedes another: they are concurrent
-- Parameter run: name of the run.
-- Parameter step = 0: step that all the events are of.
-- Parameter events: rank and place in the rank's own order (seq) of each event, as 0:17 3:12.
-- What a rank does after its event is reached by it, and so is what another does after a meeting in which a reached
-- rank gave something. Rounds go on until nothing more is reached. Places count twice, so that what was reached just
-- before an event is told from the event itself. It is one row with arrays, so that meetings are read once.
WITH RECURSIVE
    (
        SELECT groupArray((toUInt32(splitByChar(':', text)[1]), toInt64(splitByChar(':', text)[2])))
        FROM
        (
            SELECT arrayJoin(arrayFilter(part -> part != '', splitByChar(' ', {events:String}))) AS text
        )
    ) AS events,
    rounds AS (
        SELECT
            arrayMap(met -> (
                arrayMap(giver -> (indexOf(ranks, giver.1), giver.2), met.1),
                arrayMap(taker -> (indexOf(ranks, taker.1), taker.2), met.2)), ranked_meetings) AS meetings,
            arraySort(arrayDistinct(arrayConcat(arrayMap(event -> event.1, events), members))) AS ranks,
            arrayMap(one -> arrayMin(arrayPushBack(arrayMap(event -> 2 * event.2 + 1, arrayFilter(event -> event.1 = one, events)), 9223372036854775807)), ranks) AS places,
            true AS nearer
        FROM
        (
            SELECT
                groupArray((givers, takers)) AS ranked_meetings,
                groupUniqArrayArray(meeting_ranks) AS members
            FROM
            (
                SELECT
                    groupArrayIf((rank, position), gives) AS givers,
                    groupArrayIf((rank, position), takes) AS takers,
                    groupUniqArray(rank) AS meeting_ranks
                FROM tap.meetings(run = {run:String}, first_step = {step:Int64}, last_step = {step:Int64})
                GROUP BY meeting
            )
        )
        UNION ALL
        SELECT
            meetings,
            ranks,
            reached_places AS places,
            reached_places != former_places AS nearer
        FROM
        (
            SELECT
                meetings,
                ranks,
                places AS former_places,
                arrayConcat(
                    arrayMap((place, i) -> (toUInt64(i), place), places, arrayEnumerate(places)),
                    arrayMap(taker -> (taker.1, 2 * (taker.2 + 1)), arrayFlatten(arrayMap(met -> met.2, arrayFilter(met -> arrayExists(giver -> places[giver.1] <= 2 * giver.2 + 1, met.1), meetings))))) AS reaching,
                -- The least place of each rank, by its number from 1.
                tupleElement(arrayReduce('minMap', arrayMap(one -> [one.1], reaching), arrayMap(one -> [one.2], reaching)), 2) AS reached_places
            FROM rounds
            WHERE nearer
        )
    )
SELECT arrayJoin(arrayMap(event -> event.1, arrayFilter(event -> places[indexOf(ranks, event.1)] < 2 * event.2 + 1, events))) AS rank
FROM rounds
WHERE NOT nearer
