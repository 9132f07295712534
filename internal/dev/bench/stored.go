package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/ClickHouse/clickhouse-go/v2"

	"github.com/tensortap/tensortap/internal/dev/processes"
	"github.com/tensortap/tensortap/internal/dev/testbed"
)

// Tolerances by which one in 10,000 and one in 100 of the tensors differ that are compared at steps from the fourth on.
const (
	fewDiffer  = 0.01
	manyDiffer = 0.0001
)

// measureStored has the built program compare two stored runs. Each round judges by another tolerance, and so for the
// first time.
func measureStored(ctx context.Context, e *env) (section, error) {
	var s section
	err := e.withServer(ctx, nil, func(ctx context.Context, server *server) error {
		if err := server.fillTwoRuns(ctx, e.runRows()); err != nil {
			return err
		}
		for _, c := range []struct {
			tolerance, seconds, bytes float64
		}{{fewDiffer, e.wholeMark(4), e.wholeMark(300e6)}, {manyDiffer, 0, 0}} {
			m := storedComparison{env: e, server: server, tolerance: c.tolerance}
			if err := m.measure(ctx); err != nil {
				return err
			}
			s.add(m.first.atMost(fmt.Sprintf("`compare` for the first time, stored (%d rows differ)", m.differing), c.seconds, seconds))
			s.add(m.peak.atMost("peak memory of the process that judges (RSS)", c.bytes, megabytes))
			s.add(m.again.atMost("`compare` again", 0, seconds))
			s.add(m.reported.atMost("`report divergence` again, which judges nothing", 0, seconds))
		}
		return nil
	})
	s.note("Two runs of %d tensors each, of 4 ranks with 5,000 tensors a step, in a running system. From the start of the process to its end. Each round judges by another tolerance, near %g and %g, so that nothing of it is stored.",
		e.runRows(), fewDiffer, manyDiffer)
	s.note("The peak is that of the comparing process alone, without the database. It was taken in a round of its own, which came first and read from disk.")
	return s, err
}

// storedComparison is what comparing costs where that many rows differ.
type storedComparison struct {
	*env
	server                       *server
	tolerance                    float64 // of the first round; that of others is a little greater
	first, again, reported, peak rounds
	differing                    int // rows, of the last round
}

func (m *storedComparison) measure(ctx context.Context) error {
	var peak processes.Memory
	if err := m.compared(ctx, 0, &peak); err != nil {
		return err
	}
	m.peak = append(m.peak, peak.Single)
	for round := 1; round <= m.rounds; round++ {
		if err := m.round(ctx, round); err != nil {
			return err
		}
		m.say("first %s, again %s, reported %s, peak %s", seconds(m.first[round-1]), seconds(m.again[round-1]), seconds(m.reported[round-1]), megabytes(peak.Single))
	}
	var err error
	m.differing, err = m.server.differing(ctx)
	return err
}

func (m *storedComparison) round(ctx context.Context, round int) error {
	before, err := m.server.judgedSteps(ctx)
	if err != nil {
		return err
	}
	if err := take(&m.first, func() error { return m.compared(ctx, round, nil) }); err != nil {
		return err
	}
	judged, err := m.server.judgedSteps(ctx)
	if err != nil {
		return err
	}
	if steps := float64(m.runRows() / tensorsOfStep); judged-before != steps {
		return fmt.Errorf("%.0f steps were judged of %.0f", judged-before, steps)
	}
	if err := take(&m.again, func() error { return m.compared(ctx, round, nil) }); err != nil {
		return err
	}
	if err := take(&m.reported, func() error { return m.report(ctx, round) }); err != nil {
		return err
	}
	after, err := m.server.judgedSteps(ctx)
	if err == nil && after != judged {
		err = fmt.Errorf("%.0f steps were judged again", after-judged)
	}
	return err
}

// tensorsOfStep is how many tensors a rank has of each step of two filled runs.
const tensorsOfStep = 5_000

func (m *storedComparison) arguments(round int) []string {
	tolerance := strconv.FormatFloat(m.tolerance*(1+float64(round)/1000), 'g', -1, 64)
	return []string{"--tolerance", tolerance, "--data", string(m.server.endpoint.Folder), "--engine", m.library}
}

func (m *storedComparison) compared(ctx context.Context, round int, peak *processes.Memory) error {
	answer, status, err := m.runs(ctx, peak, m.binary, append([]string{"compare", "problem", "bench"}, m.arguments(round)...)...)
	if err == nil && status != 1 {
		err = fmt.Errorf("compare two stored runs: status %d, want that they differ: %s", status, answer)
	}
	return err
}

func (m *storedComparison) report(ctx context.Context, round int) error {
	asked := append([]string{"report", "divergence", "--problem", "problem", "--bench", "bench"}, m.arguments(round)...)
	answer, status, err := m.runs(ctx, nil, m.binary, asked...)
	if err == nil && status != 0 {
		err = fmt.Errorf("report two stored runs: status %d: %s", status, answer)
	}
	return err
}

// fillTwoRuns stores the runs problem and bench of so many tensors each.
func (s *server) fillTwoRuns(ctx context.Context, rows int) error {
	return testbed.FillTwoRuns(rows, func(statement string, parameters map[string]string) error {
		return s.database.Exec(clickhouse.Context(ctx, clickhouse.WithParameters(parameters)), statement)
	})
}

func (s *server) judgedSteps(ctx context.Context) (float64, error) {
	return s.number(ctx, "SELECT toFloat64(uniqExact(comparison_id, rank, step)) FROM tap_store.judged_step")
}

// differing is how many rows differ by the comparison that was asked for last.
func (s *server) differing(ctx context.Context) (int, error) {
	n, err := s.number(ctx, `SELECT toFloat64(sum(differing_count)) FROM tap_store.judged_step
		WHERE comparison_id = (SELECT argMax(comparison_id, declared_time_ns) FROM tap_store.declared_comparison)`)
	return int(n), err
}
