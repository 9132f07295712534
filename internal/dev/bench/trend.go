package main

import (
	"context"
	"fmt"
	"maps"
	"strconv"

	"github.com/ClickHouse/clickhouse-go/v2"

	"github.com/tensortap/tensortap/schemas"
)

// Of the runs that trends are asked of.
const (
	trendSites  = 20_000
	trendLayers = 80
	trendRuns   = 4
	trendRanks  = 64 // of the runs of which only aggregates are there
	foldedRanks = 8  // of the run of which the tensors are there
)

// fillDefinitions names the sites: 80 layers of 50 ops with 5 sites each.
func fillDefinitions() []string {
	layer := fmt.Sprintf("intDiv(number, %d)", trendSites/trendLayers)
	return []string{
		"INSERT INTO tap_store.op (op_id, name, level, prefix, module_path, layer_index, class_or_api, call_index, phase) " +
			"SELECT cityHash64('op', intDiv(number, 5)), concat('Module.layers.', toString(" + layer + "), '.', toString(intDiv(number, 5)), '.Linear.forward.0'), " +
			"'module', 'Module', concat('layers.', toString(" + layer + ")), " + layer + ", 'Linear', 0, 'forward' FROM numbers({sites:UInt64}) WHERE number % 5 = 0",
		"INSERT INTO tap_store.site (site_id, op_id, role, path) SELECT cityHash64(number), cityHash64('op', intDiv(number, 5)), " +
			"['output', 'input', 'parameter', 'output', 'input'][number % 5 + 1], toString(number % 5) FROM numbers({sites:UInt64})",
	}
}

// fillSkeleton is one tensor of each rank and step: as much as the check of the aggregates needs, and the trend by rank.
const fillSkeleton = `INSERT INTO tap_store.tensor
    (run_id, rank, epoch, batch, event_time_ns, step, seq, site_id, layout_id, measured, element_count, value_min, value_max, value_mean, value_l2)
SELECT xxh3(concat({run:String}, char(31))), number % {ranks:UInt64}, 7, 0, 1760000000000000000, intDiv(number, {ranks:UInt64}), number,
    cityHash64(0), 1, 23, 65536, -1, 1, 0, 256
FROM numbers({ranks:UInt64} * {steps:UInt64})`

// fillAggregates is a share of the aggregates of all steps: the first site's row stands for all tensors of its step.
const fillAggregates = `INSERT INTO tap_store.trend
SELECT xxh3(concat({run:String}, char(31))), cityHash64(site), step,
    arraySum(rank -> cityHash64(toUInt32(rank), toUInt64(7), toUInt64(1), toUInt64(step * {ranks:UInt64} + rank)), range({ranks:UInt64})),
    if(site = 0, {ranks:UInt64}, 0), site % 1000 = 0 AND step % 100 = 99, 65536 * {ranks:UInt64},
    -3 * v, 3.2 * v, 65536 * v * v, 65536 * {ranks:UInt64}, 655 * v, 65536 * {ranks:UInt64}, NULL, NULL
FROM (
    SELECT
        toUInt64({from:UInt64} + intDiv(number, {steps:UInt64})) AS site,
        toUInt32(number % {steps:UInt64}) AS step,
        toFloat64(toFloat32(toFloat64(cityHash64(number, site)) / 18446744073709551616. + 0.01)) AS v
    FROM numbers({sites:UInt64} * {steps:UInt64})
)`

// fillFolded is a run of some ranks and all their tensors, and the ends of its steps.
func fillFolded() []string {
	return []string{
		`INSERT INTO tap_store.tensor
    (run_id, rank, epoch, batch, event_time_ns, step, seq, site_id, layout_id, measured, element_count, value_min, value_max, value_mean, value_l2)
SELECT xxh3(concat({run:String}, char(31))), number % {ranks:UInt64}, 7, 0, 1760000000000000000, {from:UInt64}, number,
    cityHash64(intDiv(number, {ranks:UInt64})), 1, 23, 65536, -3 * v, 3.2 * v, v / 100, 256 * v
FROM (SELECT number, toFloat64(toFloat32(toFloat64(cityHash64(number, {from:UInt64})) / 18446744073709551616. + 0.01)) AS v FROM numbers({ranks:UInt64} * {sites:UInt64}))`,
		`INSERT INTO tap_store.step (run_id, rank, epoch, event_time_ns, step, tensor_count, complete)
SELECT xxh3(concat({run:String}, char(31))), number, 7, 1760000000000000000, {from:UInt64}, {sites:UInt64}, 1 FROM numbers({ranks:UInt64})`,
	}
}

// measureTrend asks for heat maps over a hundred million aggregates.
func measureTrend(ctx context.Context, e *env) (section, error) {
	var s section
	steps, foldedSteps := e.pick(625, 62), e.pick(60, 6)
	err := e.withServer(ctx, nil, func(ctx context.Context, server *server) error {
		if err := server.fillTrends(ctx, e, steps); err != nil {
			return err
		}
		mark := float64(e.pick(3, 0))
		for _, q := range []struct {
			what       string
			parameters map[string]string
		}{
			{"layer × step, l2", map[string]string{"run": "run1"}},
			{"layer × step, least value of outputs", map[string]string{"run": "run1", "statistic": "min", "role": "output"}},
			{"rank × step, l2", map[string]string{"run": "run1", "by": "rank"}},
			{"layer × step, l2, of the run that has half of all", map[string]string{"run": "large"}},
		} {
			took, err := server.trend(ctx, e, q.parameters)
			if err != nil {
				return err
			}
			e.say("%s %s", q.what, seconds(took.median()))
			s.add(took.atMost(q.what, mark, seconds))
		}
		return server.foldedTrend(ctx, e, foldedSteps, &s)
	})
	s.note("%d aggregates, one per run, site and step: %d runs of %d sites and %d steps, one with as many steps as those together. Made by the engine itself, which does not count.",
		2*trendRuns*trendSites*steps, trendRuns, trendSites, steps)
	s.note("The last figures are of a run of %d ranks, %d sites and %d steps, %d tensors: asked before its steps were added up and after.",
		foldedRanks, trendSites, foldedSteps, foldedRanks*trendSites*foldedSteps)
	return s, err
}

func (s *server) fillTrends(ctx context.Context, e *env, steps int) error {
	for _, statement := range fillDefinitions() {
		if err := s.fillBy(ctx, statement, fillSize{sites: trendSites}); err != nil {
			return err
		}
	}
	sizes := []fillSize{{run: "large", steps: trendRuns * steps}}
	for i := range trendRuns {
		sizes = append(sizes, fillSize{run: fmt.Sprintf("run%d", i), steps: steps})
	}
	for _, size := range sizes {
		size.ranks = trendRanks
		if err := s.fillBy(ctx, fillSkeleton, size); err != nil {
			return err
		}
		const share = 1000 // sites of one INSERT
		for size.sites = share; size.from < trendSites; size.from += share {
			if err := s.fillBy(ctx, fillAggregates, size); err != nil {
				return err
			}
		}
		e.say("filled %s", size.run)
	}
	return nil
}

// fillSize is how much a statement fills in; from is the first site or step.
type fillSize struct {
	run                       string
	ranks, steps, sites, from int
}

func (s *server) fillBy(ctx context.Context, statement string, size fillSize) error {
	ctx = clickhouse.Context(ctx, clickhouse.WithParameters(clickhouse.Parameters{
		"run": size.run, "ranks": strconv.Itoa(size.ranks), "steps": strconv.Itoa(size.steps),
		"sites": strconv.Itoa(size.sites), "from": strconv.Itoa(size.from),
	}))
	if err := s.database.Exec(ctx, statement); err != nil {
		return fmt.Errorf("fill run %s: %w", size.run, err)
	}
	return nil
}

// trend asks the report several times; the first, which reads from disk, does not count.
func (s *server) trend(ctx context.Context, e *env, parameters map[string]string) (rounds, error) {
	all := map[string]string{"limit": "10000000"}
	maps.Copy(all, parameters)
	took, err := repeat(ctx, 1+2*e.rounds, func() (float64, error) {
		return elapsed(func() error {
			table, err := s.client.Report(ctx, "trend", all)
			if err == nil && len(table.Rows) == 0 {
				return fmt.Errorf("trend of %v: no rows", all)
			}
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return took[1:], nil
}

// foldedTrend compares a trend from the tensors themselves with one from their aggregates.
func (s *server) foldedTrend(ctx context.Context, e *env, steps int, to *section) error {
	if err := s.database.Exec(ctx, "SYSTEM STOP VIEW tap_store.trend_fill"); err != nil {
		return err // or the first question would find the answer there
	}
	size := fillSize{run: "folded", ranks: foldedRanks, sites: trendSites}
	for size.from = range steps {
		for _, statement := range fillFolded() {
			if err := s.fillBy(ctx, statement, size); err != nil {
				return err
			}
		}
	}
	parameters := map[string]string{"run": size.run}
	before, err := s.trend(ctx, e, parameters)
	if err != nil {
		return err
	}
	adding, err := elapsed(func() error {
		if err := s.database.Exec(ctx, "SYSTEM START VIEW tap_store.trend_fill"); err != nil {
			return err
		}
		_, err := s.client.RebuildTrend(ctx)
		return err
	})
	if err != nil {
		return err
	}
	kept, err := s.number(ctx, fmt.Sprintf("SELECT toFloat64(count()) FROM tap.trend_steps WHERE state = 'kept' AND run_id = %d", schemas.RunID(size.run)))
	if err != nil {
		return err
	}
	if kept != float64(steps) {
		return fmt.Errorf("%.0f of %d steps were added up", kept, steps)
	}
	after, err := s.trend(ctx, e, parameters)
	if err != nil {
		return err
	}
	to.add(before.atMost(fmt.Sprintf("layer × step of %d ranks, from their tensors", foldedRanks), 0, seconds))
	to.add(after.atMost("the same, from aggregates", 0, seconds))
	to.add(rounds{before.median() / after.median()}.atLeast("ratio", 0, times))
	to.add(rounds{float64(foldedRanks*trendSites*steps) / adding}.atLeast("tensors added up by the database, beside everything else", 0, thousandsPerSecond))
	return nil
}
