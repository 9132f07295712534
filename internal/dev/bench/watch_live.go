package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/internal/system"
)

// A training that is watched while it runs on: so many ranks, each of which ends a step that often, and at which step one
// of them diverges.
const (
	liveRanks     = 4
	liveStep      = time.Second
	liveSteps     = 8
	liveDiverging = 5
)

// watchedLive is the seconds from stored to reported, of one divergence beside which everything goes on.
func (s *server) watchedLive(ctx context.Context, round int) (float64, error) {
	name := [2]string{fmt.Sprintf("live-problem-%d", round), fmt.Sprintf("live-bench-%d", round)}
	var ranks [2][]*watchedRun
	for side := range ranks {
		for rank := range uint32(liveRanks) {
			run, err := s.newWatched(ctx, name[side], rank)
			if err != nil {
				return 0, err
			}
			ranks[side] = append(ranks[side], run)
		}
	}
	for _, run := range ranks[1] {
		for step := range uint32(liveSteps) {
			if err := run.whole(ctx, step); err != nil {
				return 0, err
			}
		}
	}
	var reported, landed time.Time
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		_, err := system.Watch(ctx, s.watchRequest(name[0], name[1], func() { reported = time.Now() }))
		return err
	})
	for rank, run := range ranks[0] {
		diverging := uint32(liveSteps) // none
		if rank == liveRanks/2 {
			diverging = liveDiverging
		}
		group.Go(func() error { return run.live(ctx, diverging, &landed) })
	}
	if err := group.Wait(); err != nil {
		return 0, err
	}
	if reported.IsZero() || landed.IsZero() {
		return 0, errors.New("the watch of running ranks ended and said no divergence")
	}
	return reported.Sub(landed).Seconds(), nil
}

// live publishes the steps of a rank as they come. In the middle of the diverging one it diverges and ends, and when that
// was stored is noted.
func (r *watchedRun) live(ctx context.Context, diverging uint32, landed *time.Time) error {
	for step := range uint32(liveSteps) {
		if err := rest(ctx, liveStep); err != nil {
			return err
		}
		if step == diverging {
			return r.diverge(ctx, step, landed)
		}
		if err := r.whole(ctx, step); err != nil {
			return err
		}
	}
	return nil
}

func (r *watchedRun) diverge(ctx context.Context, step uint32, landed *time.Time) error {
	const middle = watchRows / 2
	if err := r.rows(ctx, step, 0, middle, 1); err != nil {
		return err
	}
	if err := r.rows(ctx, step, middle, middle+1, 1.5); err != nil {
		return err
	}
	var err error
	*landed, err = r.seen(ctx, int(step)*watchRows+middle+1)
	return err
}
