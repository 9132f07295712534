package system

import (
	"context"
	"fmt"
	"strconv"
)

// mergeRanks makes one rank of each tensor-parallel group where two runs have groups of different sizes, and returns
// what it made, the problem's first; nothing where the ranks can be held against each other as they are. What it makes
// are runs like others, published once, whose ranks have the numbers of the least of their groups.
func (c *Client) mergeRanks(ctx context.Context, problem, bench string, stepOffset int64) ([]derived, error) {
	sides, err := c.mergeSides(ctx, problem, bench)
	if err != nil {
		return nil, err
	}
	job := mergeJob{client: c, sides: sides, stepOffset: stepOffset}
	if different, err := job.different(ctx); err != nil || !different {
		return nil, err
	}
	var merges []derived
	for side, run := range job.sides {
		if run.size == 1 {
			continue
		}
		merge, err := job.merge(ctx, side)
		if err != nil {
			return nil, fmt.Errorf("merge the ranks of %s: %w", run.name, err)
		}
		merges = append(merges, merge)
	}
	return merges, c.WaitStored(ctx)
}

// derived is a run whose ranks are the groups of another.
type derived struct {
	side, run, made string
	groups          map[uint32][]uint32
}

// mergeJob is one call of mergeRanks.
type mergeJob struct {
	client     *Client
	sides      [2]mergeSide // problem and bench
	stepOffset int64
}

// mergeSide is what counts of a run.
type mergeSide struct {
	name  string
	size  uint64 // of its tensor-parallel groups; where nobody says, of its world
	known bool   // whether somebody says
}

// sideName is what the parameters of views call a side.
func sideName(side int) string { return [2]string{"problem", "bench"}[side] }

// mergeSidesQuery says how large the groups of both runs are.
const mergeSidesQuery = `SELECT side, size, known, ranks
FROM (
    SELECT 0 AS side, max(group_size) AS size, min(size_known) AS known, count() AS ranks
    FROM tap.shard_groups(run = {problem:String}, whole_world = 0)
    UNION ALL
    SELECT 1 AS side, max(group_size) AS size, min(size_known) AS known, count() AS ranks
    FROM tap.shard_groups(run = {bench:String}, whole_world = 0)
)
ORDER BY side`

func (c *Client) mergeSides(ctx context.Context, problem, bench string) (sides [2]mergeSide, err error) {
	table, err := c.Table(ctx, mergeSidesQuery, map[string]string{"problem": problem, "bench": bench})
	if err != nil {
		return sides, err
	}
	for i, run := range []string{problem, bench} {
		side := mergeSide{name: run, known: table.Get(i, "known").True(), size: count(table, i, "size")}
		if !side.known {
			side.size = max(count(table, i, "ranks"), 1)
			side.known = side.size == 1
		}
		sides[i] = side
	}
	return sides, nil
}

// splitWeightsQuery says whether a weight has, along one dimension, as much less than in the other run as follows from
// the numbers of ranks. An input of one dimension or behind the first that requires a gradient is a weight, too.
const splitWeightsQuery = `SELECT count() AS found
FROM (
    SELECT p.shape AS problem_shape, b.shape AS bench_shape, arrayCount((x, y) -> x != y, problem_shape, bench_shape) AS other_count
    FROM tap.pairs(problem = {problem:String}, bench = {bench:String}, rank = -1, first_step = 0, last_step = -1, step_offset = {step_offset:Int64}) AS pair
    INNER JOIN tap.layouts AS p ON p.layout_id = pair.problem_layout_id
    INNER JOIN tap.layouts AS b ON b.layout_id = pair.bench_layout_id
    INNER JOIN tap.sites AS site ON site.site_id = pair.site_id
    WHERE pair.problem_present AND pair.bench_present AND p.kind = 'tensor' AND length(p.shape) = length(b.shape) AND p.shape != b.shape
        AND (site.role = 'parameter' OR (site.role = 'input' AND site.path != '0' AND p.requires_grad = 1 AND length(p.shape) <= 2))
)
WHERE other_count = 1 AND arrayExists((x, y) -> x != y AND x * {problem_size:UInt64} = y * {bench_size:UInt64}, problem_shape, bench_shape)`

// different says whether the ranks of the runs hold parts of different sizes. Other worlds need not: copies are added, too.
func (j *mergeJob) different(ctx context.Context) (bool, error) {
	p, b := j.sides[0], j.sides[1]
	if p.size == b.size {
		return false, nil
	}
	if err := j.client.alignFor(ctx, p.name, b.name, j.stepOffset); err != nil || p.known && b.known {
		return err == nil, err
	}
	parameters := j.parameters()
	parameters["problem_size"], parameters["bench_size"] = strconv.FormatUint(p.size, 10), strconv.FormatUint(b.size, 10)
	table, err := j.client.Table(ctx, splitWeightsQuery, parameters)
	return err == nil && table.Get(0, "found").Number > 0, err
}

// parameters are those of tap.merged_tensors, but for side and steps.
func (j *mergeJob) parameters() map[string]string {
	parameters := map[string]string{"step_offset": strconv.FormatInt(j.stepOffset, 10)}
	for i, side := range j.sides {
		parameters[sideName(i)] = side.name
		parameters[sideName(i)+"_whole_world"] = "1"
		if side.known {
			parameters[sideName(i)+"_whole_world"] = "0"
		}
	}
	return parameters
}

// merge makes the run whose ranks are the groups of one side, as far as it is not there yet.
func (j *mergeJob) merge(ctx context.Context, side int) (derived, error) {
	m := &merging{mergeJob: j, side: side, made: derivedName(j.sides[side].name, j.sides[1-side].name)}
	groups, err := m.groups(ctx)
	if err != nil {
		return derived{}, err
	}
	result := derived{side: sideName(side), run: j.sides[side].name, made: m.made, groups: groups}
	if err := m.plan(ctx); err != nil || len(m.steps) == 0 {
		return result, err
	}
	return result, m.publish(ctx)
}
