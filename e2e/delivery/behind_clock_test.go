package delivery

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/schemas"
)

// TestARunOfAHostWhoseClockIsTwoDaysBehindIsStoredOnceAndStays has an agent and its rank both be so far behind. By its events the time of the
// run is over a day before it begins, by a rule of retention.
func TestARunOfAHostWhoseClockIsTwoDaysBehindIsStoredOnceAndStays(t *testing.T) {
	t.Parallel()
	const run, behind = "behind", -48 * time.Hour
	data := t.TempDir()
	u := program.StartUp(t, data, "--archive-age", "100ms")
	old := recorded.Unpack(t, "A_llama_mix_statistics")
	makeOld(t, old, -behind-time.Hour) // so that it goes behind the other
	u.Publish(t, old, "old")
	root := t.TempDir()
	stop := serveBehind(t, u, root, behind)
	s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: run, Epoch: schemas.RunID(run), Started: time.Now().Add(behind)})
	for step := range uint32(5) {
		s.Step(step, 4)
	}
	s.Close()
	program.Served(t, root)
	stop()
	u.Settle(t)
	rows := runRows(t, u, run)
	stored := fmt.Sprint(u.Query(t, fmt.Sprintf("SELECT count(), uniqExact(seq), uniqExact(step) FROM tap_store.tensor WHERE run_id = %d", schemas.RunID(run))))
	if stored != "[[40 40 5]]" {
		t.Errorf("tensors, different ones, steps: %s", stored)
	}
	mustStop(t, u)

	rules := program.TextFile(t, "rules:\n  - {runs: \"*\", delete_after: 1d}\n")
	u = program.StartUp(t, data, "--retention", rules)
	if err := program.Await(program.Patience, "the old run to go", func() bool {
		return !slices.ContainsFunc(runRows(t, u, "old"), func(n string) bool { return n != "0" })
	}); err != nil {
		t.Error(err)
	}
	if got := runRows(t, u, run); !slices.Equal(got, rows) {
		t.Errorf("rows of the run are %v, want %v", got, rows)
	}
	if out := program.Run(t, u.Setting, "verify"); out.Status != 0 {
		t.Error(out)
	}
}

// serveBehind has an agent whose clock is off serve a root until it is stopped.
func serveBehind(tb testing.TB, u *program.Up, root string, off time.Duration) (stop func()) {
	tb.Helper()
	client, err := system.ConnectStream(u.Endpoint, func() time.Time { return time.Now().Add(off) })
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	var group errgroup.Group
	group.Go(func() error { return client.Serve(ctx, system.ServeRequest{Spool: root, Tell: func(string) {}}) })
	stop = func() {
		cancel()
		if err := group.Wait(); err != nil {
			tb.Error(err)
		}
		client.Close()
	}
	return stop
}
