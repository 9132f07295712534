package main

import (
	"context"
	"fmt"
	"time"

	"github.com/tensortap/tensortap/analysis/rules"
	"github.com/tensortap/tensortap/analysis/verdicts"
	"github.com/tensortap/tensortap/schemas"
)

// judgedThroughput is rows per second of a run that a standing comparison judges as it lands, until both stores have the
// last; and how many seconds later its last step was judged.
func (e *env) judgedThroughput(ctx context.Context, s *server, messages int) (rate, behind float64, err error) {
	m := newModel(sitesPerStep)
	bench, err := s.newModelRun(ctx, "judged-bench", m)
	if err != nil {
		return 0, 0, err
	}
	if _, err := bench.full(ctx, messages); err != nil {
		return 0, 0, err
	}
	problem, err := s.newModelRun(ctx, "judged-problem", m)
	if err != nil {
		return 0, 0, err
	}
	if err := problem.stand(ctx, bench.name); err != nil {
		return 0, 0, err
	}
	cost := startCost()
	took, err := problem.full(ctx, messages)
	if err != nil {
		return 0, 0, err
	}
	rows := float64(messages) * messageRows
	e.say("processor time per million events, judging included: %s", cost.per(rows/1e6))
	behind, err = e.judgedWithin(ctx, s, rows/sitesPerStep)
	if err != nil {
		return 0, 0, err
	}
	return rows / took, behind, s.holds(ctx, 2*rows)
}

// modelRun is a run of a model that is published at full speed.
type modelRun struct {
	*watchedRun
	model *model
	rows  *generator
}

// newModelRun publishes what the run is of.
func (s *server) newModelRun(ctx context.Context, name string, m *model) (*modelRun, error) {
	run, err := s.newRun(ctx, name, 0)
	if err != nil {
		return nil, err
	}
	r := &modelRun{watchedRun: run, model: m, rows: m.generator(run.id.RunID, time.Now().UnixNano()).drawAlike(name == "judged-problem")}
	r.rows.epoch, r.rows.row.Epoch = run.id.Epoch, run.id.Epoch
	ops, sites := schemas.NewBuilder[schemas.OpRow](), schemas.NewBuilder[schemas.SiteRow]()
	layouts, program := schemas.NewBuilder[schemas.LayoutRow](), schemas.NewBuilder[schemas.ProgramRow]()
	for i := range m.ops {
		ops.Append(&m.ops[i])
		program.Append(&m.program[i])
	}
	for i := range m.sites {
		sites.Append(&m.sites[i])
	}
	for i := range m.layouts {
		layouts.Append(&m.layouts[i])
	}
	return r, r.publishAll(ctx, ops, sites, layouts, program)
}

// stand declares that the run is judged against a bench as its steps land.
func (r *modelRun) stand(ctx context.Context, bench string) error {
	message, err := verdicts.Declared(schemas.DeclaredComparisonRow{
		DeclaredTimeNs: time.Now().UnixNano(), Problem: r.name, Benches: []string{bench}, Tolerance: -1, Rules: rules.Version, Standing: 1,
	})
	if err != nil {
		return err
	}
	if err := r.publisher.Publish(ctx, message); err != nil {
		return err
	}
	if err := r.publisher.Flush(ctx); err != nil {
		return err
	}
	if err := r.server.stored(ctx, "clickhouse", "parquet"); err != nil {
		return err
	}
	return rest(ctx, 2*time.Second) // until the judge has looked which comparisons stand
}

// full is the seconds until both stores have all rows and the ends of their steps.
func (r *modelRun) full(ctx context.Context, messages int) (float64, error) {
	b := schemas.NewBuilder[schemas.TensorRow]()
	return elapsed(func() error {
		for batch := range uint64(messages) { //nolint:gosec // a small number
			message, err := r.rows.message(b, batch, messageRows)
			if err != nil {
				return err
			}
			if err := r.publisher.Publish(ctx, message); err != nil {
				return err
			}
			if err := r.ended(ctx, batch); err != nil {
				return err
			}
		}
		if err := r.publisher.Flush(ctx); err != nil {
			return err
		}
		return r.server.stored(ctx, "clickhouse", "parquet")
	})
}

// ended publishes the ends of the steps whose last row the batch had.
func (r *modelRun) ended(ctx context.Context, batch uint64) error {
	steps := schemas.NewBuilder[schemas.StepRow]()
	r.id.Batch = batch
	for step := batch * messageRows / sitesPerStep; step < (batch+1)*messageRows/sitesPerStep; step++ {
		steps.Append(r.model.ended(r.id, uint32(step), r.rows.row.EventTimeNs)) //nolint:gosec // a small number
	}
	return r.publish(ctx, steps)
}

// notJudging is after how long without a verdict no judge is thought to be at work.
const notJudging = 30 * time.Second

// judgedWithin waits until so many steps are judged, and says how long that took.
func (e *env) judgedWithin(ctx context.Context, s *server, steps float64) (float64, error) {
	begin, last, moved := time.Now(), -1.0, time.Now()
	for {
		judged, err := s.judgedSteps(ctx)
		if err != nil || judged >= float64(int(steps)) {
			return time.Since(begin).Seconds(), err
		}
		if judged > last {
			last, moved = judged, time.Now()
		}
		if time.Since(moved) > notJudging {
			return 0, fmt.Errorf("%.0f of %.0f steps were judged, and none within %v: no judge is at work", judged, steps, notJudging)
		}
		if err := rest(ctx, 50*time.Millisecond); err != nil {
			return 0, err
		}
	}
}
