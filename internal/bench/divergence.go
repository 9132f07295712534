package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// fillRun stores a share of a run of 4 ranks, 250 steps and 5,000 tensors a step. From the fourth step on, half of the
// problem's tensors differ by up to 1 %.
const fillRun = `INSERT INTO tap_store.tensor
    (run_id, rank, epoch, batch, event_time_ns, step, seq, site_id, layout_id, measured, element_count, value_min, value_max, value_mean, value_l2)
SELECT
    xxh3(concat({run:String}, char(31))), intDiv(number, 1250000), 7, intDiv(number % 1250000, 50000),
    1760000000000000000, intDiv(number, 5000) % 250, number % 1250000,
    cityHash64(number % 5000), cityHash64('layout', number % 40), 23, 65536,
    -3 * v, 3.2 * v, v / 100, 256 * v
FROM (
    SELECT
        number,
        (toFloat64(cityHash64(number)) / 18446744073709551616. + 0.01)
            * if({run:String} = 'problem' AND number % 5000 > 2500 AND intDiv(number, 5000) % 250 >= 3, 1 + cityHash64(number, 1) % 1000 / 1e5, 1) AS v
    FROM numbers({from:UInt64}, {count:UInt64})
)`

const rowsOfRun = 5_000_000

// measureDivergence asks the reports over ten million stored rows.
func measureDivergence(ctx context.Context, e *env) (section, error) {
	var s section
	err := e.withServer(ctx, nil, func(ctx context.Context, server *server) error {
		for _, run := range []string{"problem", "bench"} {
			if err := server.fill(ctx, run, e.pick(rowsOfRun, rowsOfRun/10)); err != nil {
				return err
			}
		}
		for _, report := range []struct {
			name string
			mark float64
		}{{"divergence", 0.5}, {"divergence_summary", 0}, {"overflow", 0}, {"completeness", 0}} {
			took, err := repeat(ctx, 1+2*e.rounds, func() (float64, error) {
				return elapsed(func() error { return server.ask(ctx, report.name) })
			})
			if err != nil {
				return err
			}
			took = took[1:] // the first reads from disk
			e.say("%s %s", report.name, seconds(took.median()))
			if e.quick {
				report.mark = 0 // it is meant for ten times as many rows
			}
			s.add(took.atMost("report "+report.name, report.mark, seconds))
		}
		return nil
	})
	s.note("Two runs of 4 ranks, 250 steps and 5,000 tensors a step: %d rows, of which almost a quarter differ. As they were inserted, not merged further; what was read before is in the page cache. "+
		"From the question until the whole answer is decoded; medians of %d.", 2*e.pick(rowsOfRun, rowsOfRun/10), 2*e.rounds)
	return s, err
}

func (s *server) fill(ctx context.Context, run string, rows int) error {
	const share = 1_250_000 // of one rank
	for from := 0; from < rows; from += share {
		ctx := clickhouse.Context(ctx, clickhouse.WithParameters(clickhouse.Parameters{
			"run": run, "from": strconv.Itoa(from), "count": strconv.Itoa(min(share, rows-from)),
		}))
		if err := s.database.Exec(ctx, fillRun); err != nil {
			return fmt.Errorf("fill run %s: %w", run, err)
		}
	}
	return nil
}

func (s *server) ask(ctx context.Context, report string) error {
	_, err := s.client.Report(ctx, report, map[string]string{"problem": "problem", "bench": "bench", "run": "problem"})
	return err
}
