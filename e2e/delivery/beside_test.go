package delivery

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/internal/dev/soak"
	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/producers/msprobe"
)

// mostMemoryOfUp is what `up` may ever have, its engine aside: what its two consumers hold, and as much again.
const mostMemoryOfUp = 768 << 20

// TestRunsBesideEachOtherAllArrive publishes 200 runs at the same time, each over a connection of its own; TENSORTAP_RUNS
// says another number.
func TestRunsBesideEachOtherAllArrive(t *testing.T) {
	t.Parallel()
	soak.Only(t)
	const ranks = 2
	runs := numberFrom(t, "TENSORTAP_RUNS", 200)
	dir := t.TempDir()
	if err := recorded.WriteRanks(dir, ranks); err != nil {
		t.Fatal(err)
	}
	u := program.StartUp(t, t.TempDir())
	var publishers errgroup.Group
	for run := range runs {
		publishers.Go(func() error { return publishOver(t, u.Endpoint, dir, fmt.Sprintf("beside %d", run)) })
	}
	if err := publishers.Wait(); err != nil {
		t.Fatal(err)
	}
	u.Settle(t)
	all := strconv.Itoa(runs * ranks)
	got := u.Query(t, "SELECT uniqExact(run), count(), countIf(complete) FROM tap.completeness")[0]
	if want := []string{strconv.Itoa(runs), all, all}; !slices.Equal(got, want) {
		t.Errorf("runs, ranks, complete ones: %v, want %v", got, want)
	}
	tensors := strconv.Itoa(runs * ranks * recorded.TensorsOfSmallRank)
	if got := u.Query(t, "SELECT count(), uniqExact(run_id, rank, site_id) FROM tap_store.tensor")[0]; !slices.Equal(got, []string{tensors, tensors}) {
		t.Errorf("tensors, different ones: %v, want %s of each", got, tensors)
	}
	if most := program.MostMemory(t, u.Cmd.Process.Pid); most > mostMemoryOfUp {
		t.Errorf("up had %d MiB, want %d at most", most>>20, mostMemoryOfUp>>20)
	}
}

// publishOver publishes over a connection of its own.
func publishOver(t *testing.T, e system.Endpoint, dir, run string) error {
	t.Helper()
	client, err := system.ConnectStream(e, time.Now)
	if err != nil {
		return err
	}
	defer client.Close()
	_, err = client.Publish(t.Context(), msprobe.Tool(), system.PublishRequest{Path: dir, Run: run}, func(int64, int64) {})
	return err
}
