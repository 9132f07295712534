package system

import (
	"context"
	"fmt"
	"maps"
	"strconv"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/zeebo/xxh3"

	"github.com/tensortap/tensortap/schemas"
)

// mergeRules is the version of the rules by which ranks are merged: with others, what was derived is derived again.
const mergeRules = 1

// merging makes one run of another.
type merging struct {
	*mergeJob
	side  int
	made  string                     // its name
	steps map[place]*schemas.StepRow // those to be published
}

// place is a step of a rank.
type place struct{ rank, step uint32 }

// longestRunName is how many characters a name of a run has at most.
const longestRunName = 200

// derivedName names the merged run after both: how parts make a whole is read off the other one.
func derivedName(run, other string) string {
	name := []rune(fmt.Sprintf("%s (merged for %s)", run, other))
	if len(name) <= longestRunName {
		return string(name)
	}
	const kept = 160
	return fmt.Sprintf("%s… (merged, %016x)", string(name[:kept]), xxh3.HashString(string(name)))
}

// query asks for rows of the side that is merged; scan is called for each.
func (m *merging) query(ctx context.Context, query string, more map[string]string, scan func(driver.Rows) error) error {
	parameters := m.parameters()
	maps.Copy(parameters, map[string]string{
		"side": sideName(m.side), "run": m.sides[m.side].name, "other": m.sides[1-m.side].name, "made": m.made,
		"whole_world": parameters[sideName(m.side)+"_whole_world"], "first_step": "0", "last_step": "-1",
		"to_other": strconv.FormatInt(m.stepOffset*int64(1-2*m.side), 10),
	})
	maps.Copy(parameters, more)
	rows, err := m.client.Rows(ctx, query, parameters)
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // Err says what went wrong
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

const mergeGroupsQuery = `SELECT leader, rank
FROM tap.shard_groups(run = {run:String}, whole_world = {whole_world:UInt8})
ORDER BY leader, rank`

// groups is which ranks are merged, by the least of them.
func (m *merging) groups(ctx context.Context) (map[uint32][]uint32, error) {
	groups := map[uint32][]uint32{}
	err := m.query(ctx, mergeGroupsQuery, nil, func(rows driver.Rows) error {
		var leader, rank uint32
		err := rows.Scan(&leader, &rank)
		groups[leader] = append(groups[leader], rank)
		return err
	})
	return groups, err
}

// mergedStepsQuery asks for the steps of merged ranks. Their content is told by what was stored of both runs: as long as
// that stays, so does what is derived. It grows by every rank that comes later and every step that is replaced.
const mergedStepsQuery = `SELECT
    member.leader, own.step, max(own.event_time_ns), min(own.begin_time_ns), max(own.end_time_ns), argMin(own.program_id, own.rank),
    argMin(own.phase, own.rank), argMin(own.op_count, own.rank), sum(own.dropped_count), arrayStringConcat(arrayFilter(reason -> reason != '', groupUniqArray(own.drop_reason)), '; '),
    toUInt8(min(own.complete) = 1 AND count() = any(member.group_size)),
    toUInt32(sum(own.generation) + count() + any(other.grown)),
    concat(toString(arraySort(groupArray((own.rank, own.epoch)))), any(other.content))
FROM tap.steps AS own
INNER JOIN tap.shard_groups(run = {run:String}, whole_world = {whole_world:UInt8}) AS member ON member.rank = own.rank
LEFT JOIN (
    SELECT toInt64(step) - {to_other:Int64} AS own_step, sum(generation) + count() AS grown, toString(arraySort(groupArray((rank, epoch)))) AS content
    FROM tap.steps
    WHERE run_id = xxh3(concat({other:String}, char(31)))
    GROUP BY step
) AS other ON other.own_step = toInt64(own.step)
WHERE own.run_id = xxh3(concat({run:String}, char(31)))
GROUP BY member.leader, own.step`

const madeStepsQuery = `SELECT rank, step, epoch
FROM tap_store.step
WHERE run_id = xxh3(concat({made:String}, char(31)))`

// plan finds the steps that are not derived yet.
func (m *merging) plan(ctx context.Context) error {
	m.steps = map[place]*schemas.StepRow{}
	runID := schemas.RunID(m.made)
	err := m.query(ctx, mergedStepsQuery, nil, func(rows driver.Rows) error {
		s := schemas.StepRow{RunID: runID}
		var content string
		err := rows.Scan(&s.Rank, &s.Step, &s.EventTimeNs, &s.BeginTimeNs, &s.EndTimeNs, &s.ProgramID, &s.Phase, &s.OpCount,
			&s.DroppedCount, &s.DropReason, &s.Complete, &s.Generation, &content)
		s.Epoch = xxh3.HashString(fmt.Sprintf("%d %d %d %s", mergeRules, s.Rank, s.Step, content))
		s.Generation += mergeRules << 20
		m.steps[place{s.Rank, s.Step}] = &s
		return err
	})
	if err != nil {
		return err
	}
	return m.query(ctx, madeStepsQuery, nil, func(rows driver.Rows) error {
		var at place
		var epoch uint64
		err := rows.Scan(&at.rank, &at.step, &epoch)
		if s := m.steps[at]; s != nil && s.Epoch == epoch {
			delete(m.steps, at)
		}
		return err
	})
}
