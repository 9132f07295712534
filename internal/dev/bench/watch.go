package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// watchRows is how many tensors a step of the watched runs has.
const watchRows = 2000

// measureWatch publishes a divergence in the middle of a step, again and again, and takes the time from the moment
// that a query sees its row until the watch says it.
func measureWatch(ctx context.Context, e *env) (section, error) {
	var s section
	var waits, live rounds
	err := e.withServer(ctx, nil, func(ctx context.Context, server *server) error {
		for round := range e.pick(4*e.rounds, 3) {
			wait, err := server.watched(ctx, round)
			if err != nil {
				return err
			}
			e.say("%s", milliseconds(wait))
			waits = append(waits, wait)
		}
		for round := range e.pick(e.rounds, 1) {
			wait, err := server.watchedLive(ctx, round)
			if err != nil {
				return err
			}
			e.say("%s with %d ranks running on", milliseconds(wait), liveRanks)
			live = append(live, wait)
		}
		return nil
	})
	if err != nil {
		return s, err
	}
	s.add(waits.atMost("a divergence, stored to reported, median", 0.2, milliseconds))
	s.add(rounds{waits.greatest()}.atMost("the same, worst", 0.6, milliseconds))
	s.add(live.atMost(fmt.Sprintf("the same where %d ranks run on, median", liveRanks), 0.2, milliseconds))
	s.note("A step of %d tensors, whole in the bench and half there in the problem, when one row lands that diverges; %d times, each with two runs of its own. The row's batch of the database is waited for before the clock starts.", watchRows, len(waits))
	s.note("Where ranks run on, each of them ends a step of as many tensors every %v, beside a bench that has ended.", liveStep)
	return s, nil
}

// watched is the seconds from stored to reported, of one divergence.
func (s *server) watched(ctx context.Context, round int) (float64, error) {
	problem, err := s.newWatched(ctx, fmt.Sprintf("problem-%d", round), 0)
	if err != nil {
		return 0, err
	}
	bench, err := s.newWatched(ctx, fmt.Sprintf("bench-%d", round), 0)
	if err != nil {
		return 0, err
	}
	const middle = watchRows / 2
	for _, run := range []*watchedRun{bench, problem} {
		if err := run.whole(ctx, 0); err != nil {
			return 0, err
		}
	}
	if err := bench.rows(ctx, 1, 0, watchRows, 1); err != nil {
		return 0, err
	}
	if err := problem.rows(ctx, 1, 0, middle, 1); err != nil {
		return 0, err
	}
	if err := s.stored(ctx, "clickhouse"); err != nil {
		return 0, err
	}
	var reported time.Time
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		_, err := system.Watch(ctx, s.watchRequest(problem.name, bench.name, func() { reported = time.Now() }))
		return err
	})
	var landed time.Time
	group.Go(func() error {
		if err := rest(ctx, 2*time.Second); err != nil { // until the watch has looked at what is there
			return err
		}
		if err := problem.rows(ctx, 1, middle, middle+1, 1.5); err != nil {
			return err
		}
		landed, err = problem.seen(ctx, watchRows+middle+1)
		return err
	})
	if err := group.Wait(); err != nil {
		return 0, err
	}
	if reported.IsZero() {
		return 0, errors.New("the watch ended and said no divergence")
	}
	return reported.Sub(landed).Seconds(), nil
}

func (s *server) watchRequest(problem, bench string, diverged func()) system.WatchRequest {
	request := system.DefaultWatchRequest()
	request.Compare.Problem, request.Compare.Benches = problem, []string{bench}
	request.UntilDiverged, request.Now = true, time.Now
	request.Connect = func(ctx context.Context) (*system.Client, error) { return system.Connect(ctx, s.endpoint, time.Now) }
	request.Say = func(e *report.WatchEvent) error {
		if e.Event == "divergence" {
			diverged()
		}
		return nil
	}
	return request
}

// watchedRun is a run that is published as the measurement goes on.
type watchedRun struct {
	server    *server
	name      string
	id        schemas.Identity
	publisher *pipelines.Publisher
}

func (s *server) newWatched(ctx context.Context, name string, rank uint32) (*watchedRun, error) {
	r, err := s.newRun(ctx, name, rank)
	if err != nil {
		return nil, err
	}
	layouts, ops, sites := schemas.NewBuilder[schemas.LayoutRow](), schemas.NewBuilder[schemas.OpRow](), schemas.NewBuilder[schemas.SiteRow]()
	layouts.Append(watchedLayout())
	for i := range watchRows {
		op := schemas.ParseOpName(watchedOp(i))
		ops.Append(&op)
		sites.Append(&schemas.SiteRow{SiteID: schemas.SiteID(op.OpID, "output", "0"), OpID: op.OpID, Role: "output", Path: "0"})
	}
	return r, r.publishAll(ctx, layouts, ops, sites)
}

// newRun describes a run of one rank.
func (s *server) newRun(ctx context.Context, name string, rank uint32) (*watchedRun, error) {
	publisher, err := s.publisher()
	if err != nil {
		return nil, err
	}
	id := schemas.RunID(name)
	r := &watchedRun{server: s, name: name, id: schemas.Identity{RunID: id, Rank: rank, Epoch: id}, publisher: publisher}
	runs, ranks := schemas.NewBuilder[schemas.RunRow](), schemas.NewBuilder[schemas.RankRow]()
	runs.Append(&schemas.RunRow{RunID: id, Epoch: id, Name: name, Source: "bench", EventTimeSource: "rank", FirstEventTimeNs: time.Now().UnixNano()})
	ranks.Append(&schemas.RankRow{RunID: id, Rank: rank, Epoch: id, TP: -1, PP: -1, DP: -1, CP: -1, EP: -1})
	return r, r.publishAll(ctx, runs, ranks)
}

// packed is rows that become a message.
type packed interface {
	Message(schemas.Identity) (schemas.Message, error)
}

// publishAll returns when the stream has all of it.
func (r *watchedRun) publishAll(ctx context.Context, all ...packed) error {
	for _, rows := range all {
		if err := r.publish(ctx, rows); err != nil {
			return err
		}
	}
	return r.publisher.Flush(ctx)
}

func (r *watchedRun) publish(ctx context.Context, rows packed) error {
	message, err := rows.Message(r.id)
	if err != nil {
		return err
	}
	return r.publisher.Publish(ctx, message)
}

func watchedOp(i int) string { return fmt.Sprintf("Functional.linear.%d.forward", i) }

func watchedLayout() *schemas.LayoutRow {
	layout := &schemas.LayoutRow{Kind: "tensor", Dtype: "torch.float32", Shape: []int64{64, 64}}
	layout.LayoutID = schemas.LayoutID(layout)
	return layout
}

// rows publishes the outputs of those ops as one batch, and returns when the stream has it.
func (r *watchedRun) rows(ctx context.Context, step uint32, from, to int, scale float64) error {
	b := schemas.NewBuilder[schemas.TensorRow]()
	for i := from; i < to; i++ {
		v := scale * float64(i+1)
		b.Append(&schemas.TensorRow{
			RunID: r.id.RunID, Rank: r.id.Rank, Epoch: r.id.Epoch, Batch: r.id.Batch, EventTimeNs: time.Now().UnixNano(), Step: step, Seq: uint64(step)*watchRows + uint64(i), //nolint:gosec // a small number
			SiteID: schemas.SiteID(schemas.OpID(watchedOp(i)), "output", "0"), LayoutID: watchedLayout().LayoutID, ElementCount: 4096,
			Measured: schemas.MeasuredMin | schemas.MeasuredMax | schemas.MeasuredMean | schemas.MeasuredL2,
			ValueMin: -v, ValueMax: v, ValueL2: 32 * v,
		})
	}
	if err := r.publish(ctx, b); err != nil {
		return err
	}
	r.id.Batch++
	return r.publisher.Flush(ctx)
}

// whole publishes a step and ends it, so that its program is known.
func (r *watchedRun) whole(ctx context.Context, step uint32) error {
	if err := r.rows(ctx, step, 0, watchRows, 1); err != nil {
		return err
	}
	return r.end(ctx, step)
}

func (r *watchedRun) end(ctx context.Context, step uint32) error {
	programs, steps := schemas.NewBuilder[schemas.ProgramRow](), schemas.NewBuilder[schemas.StepRow]()
	var hasher schemas.ProgramHasher
	for i := range watchRows {
		hasher.Add(schemas.OpID(watchedOp(i)), 0)
	}
	for i := range watchRows {
		programs.Append(&schemas.ProgramRow{ProgramID: hasher.ID(), Position: uint32(i), OpID: schemas.OpID(watchedOp(i))}) //nolint:gosec // a small number
	}
	steps.Append(&schemas.StepRow{
		RunID: r.id.RunID, Rank: r.id.Rank, Epoch: r.id.Epoch, Batch: uint64(step), EventTimeNs: time.Now().UnixNano(), Step: step, ProgramID: hasher.ID(),
		OpCount: watchRows, TensorCount: watchRows, Complete: 1,
	})
	first := *r
	first.id.Batch = uint64(step) // of the steps; programs come again
	return first.publishAll(ctx, programs, steps)
}

// seen returns when a query sees so many rows of the rank, and when that was.
func (r *watchedRun) seen(ctx context.Context, rows int) (time.Time, error) {
	for {
		n, err := r.server.number(ctx, fmt.Sprintf("SELECT toFloat64(count()) FROM tap_store.tensor WHERE run_id = %d AND rank = %d", r.id.RunID, r.id.Rank))
		if err != nil || n >= float64(rows) {
			return time.Now(), err
		}
		if err := rest(ctx, askEvery); err != nil {
			return time.Now(), err
		}
	}
}
