package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/tensortap/tensortap/internal/dev/testbed"
)

// The runs, both alike but for the faults of one. Times of steps are made up: they end half a minute ago, when the process starts.
const (
	goodRun  = "demo-good"
	badRun   = "demo-bad"
	ranks    = 4
	steps    = 32
	layers   = 4
	stepTime = 10 * time.Second
	calmTime = 30 * time.Second // since the last step
	usual    = 2 * time.Second  // a rank's own work in a step
	beat     = time.Second
)

// job is the processes of one run, all in this one.
type job struct {
	root   string
	bad    bool
	keeper testbed.Keeper
	ranks  []*rank
}

func (j *job) name() string {
	if j.bad {
		return badRun
	}
	return goodRun
}

// train writes all that the ranks did until they end, or hang.
func (j *job) train() error {
	now := time.Now()
	for number := range uint32(ranks) {
		j.ranks = append(j.ranks, j.start(number, now))
	}
	for _, r := range j.ranks {
		for step := range uint32(steps - 1) {
			r.step(step)
		}
		r.lastStep(steps - 1)
		if err := r.writeJournal(); err != nil {
			return fmt.Errorf("write the records of rank %d: %w", r.number, err)
		}
	}
	return j.keeper.Err()
}

func (j *job) start(number uint32, now time.Time) *rank {
	s := testbed.NewSpool(&j.keeper, j.root, testbed.SpoolOptions{
		Run: j.name(), Rank: number, Epoch: uint64(now.UnixNano()) + uint64(number), SegmentRows: 8192, //nolint:gosec // after 1970
		// The profile may be started again: its ranks then begin anew.
		Fields: map[string]any{"world_size": ranks, "model": "tiny", "resume": true, "labels": map[string]string{"made_by": "demo"}},
	})
	s.Clock = now.Add(-calmTime - steps*stepTime).UnixNano()
	return &rank{Spool: s, number: number, run: j.name(), bad: j.bad}
}

// awaitAgent returns once an agent has published and removed all that the ranks wrote.
func (j *job) awaitAgent(ctx context.Context) error {
	for !j.published() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is not published yet: %w", j.root, ctx.Err())
		case <-time.After(beat / 10):
		}
	}
	return nil
}

func (j *job) published() bool {
	for _, r := range j.ranks {
		left, err := filepath.Glob(r.Dir + "*")
		if err != nil || len(left) > 0 {
			return false
		}
	}
	return true
}

// live gives the signs of life of ranks that wait for one that is dead, until ctx ends.
func (j *job) live(ctx context.Context) {
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	for ctx.Err() == nil {
		for _, r := range j.ranks {
			r.beat(time.Now())
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}
