package main

import (
	"context"

	"github.com/ClickHouse/clickhouse-go/v2"

	"github.com/tensortap/tensortap/internal/dev/testbed"
)

// measureDivergence asks the reports over ten million stored rows.
func measureDivergence(ctx context.Context, e *env) (section, error) {
	var s section
	rows := e.pick(testbed.RowsOfRun, testbed.RowsOfRun/10)
	err := e.withServer(ctx, nil, func(ctx context.Context, server *server) error {
		if err := server.fillTwoRuns(ctx, rows); err != nil {
			return err
		}
		for _, report := range []struct {
			name string
			mark float64
		}{{"divergence", 1}, {"divergence_summary", 1}, {"overflow", 0}, {"completeness", 0}} {
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
	s.note("Two runs of 4 ranks, 250 steps and 5,000 tensors a step: %d rows, of which half of the problem's differ in their numbers by up to a fifth. As they were inserted, not merged further; what was read before is in the page cache. "+
		"From the question until the whole answer is decoded; medians of %d.", 2*rows, 2*e.rounds)
	return s, err
}

// fillTwoRuns stores two runs of so many tensor rows each.
func (s *server) fillTwoRuns(ctx context.Context, rows int) error {
	return testbed.FillTwoRuns(rows, func(statement string, parameters map[string]string) error {
		return s.database.Exec(clickhouse.Context(ctx, clickhouse.WithParameters(parameters)), statement)
	})
}

func (s *server) ask(ctx context.Context, report string) error {
	_, err := s.client.Report(ctx, report, map[string]string{"problem": "problem", "bench": "bench", "run": "problem"})
	return err
}
