package delivery

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/pipelines"
)

// manyRanks is how many ranks the dump of TestManyRanksShareMessages has; TENSORTAP_RANKS says another number.
const manyRanks = 300

// TestManyRanksShareMessages kills the publisher of a dump of many small ranks on its way, again and again, and wants each
// row once, each rank whole, and no definition sent once per rank.
func TestManyRanksShareMessages(t *testing.T) {
	t.Parallel()
	ranks := numberFrom(t, "TENSORTAP_RANKS", manyRanks)
	dir := t.TempDir()
	if err := recorded.WriteRanks(dir, ranks); err != nil {
		t.Fatal(err)
	}
	u := program.StartUp(t, t.TempDir(), "--archive-age", "100ms")
	js := program.ConnectStream(t, u.Endpoint.NATS)
	for _, part := range []int{1, ranks / 2, ranks} {
		killPublisherAfter(t, u, dir, js, uint64(part))
	}
	u.Publish(t, dir, "killed")
	requireRanks(t, u, "killed", ranks)

	before := messagesOf(t, js)
	u.Publish(t, dir, "whole")
	requireRanks(t, u, "whole", ranks)
	// Its rank, tensors and step are each rank's own; ops, sites and all else are equal in all ranks.
	if sent, most := messagesOf(t, js)-before, uint64(3*ranks+16); sent > most {
		t.Errorf("%d ranks became %d messages, want %d at most", ranks, sent, most)
	}
	if out := program.Run(t, u.Setting, "publish", "msprobe", dir, "--run", "whole"); out.Status != 0 || !publishedNothing(out) {
		t.Errorf("published again: %v", out)
	}
	awaitStored(t, js, "clickhouse", "parquet")
	requireEqual(t, u, []published{{dir, "killed"}, {dir, "whole"}})
}

// killPublisherAfter publishes until the stream has so many messages more, and kills the publisher there, or a moment later.
func killPublisherAfter(t *testing.T, u *program.Up, dir string, js jetstream.JetStream, more uint64) {
	t.Helper()
	before := messagesOf(t, js)
	cmd := program.Command(t, u.Setting, "publish", "msprobe", dir, "--run", "killed")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	reached := func() bool { return messagesOf(t, js) >= before+more || len(ended) > 0 }
	if err := program.Await(time.Minute, fmt.Sprintf("%d messages of a publisher", more), reached); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Process.Kill()
	if err, failed := <-ended, (*exec.ExitError)(nil); err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
}

func messagesOf(t *testing.T, js jetstream.JetStream) uint64 {
	t.Helper()
	stream, err := js.Stream(t.Context(), pipelines.StreamName)
	if err != nil {
		t.Fatal(err)
	}
	return stream.CachedInfo().State.Msgs
}

// requireRanks wants every rank whole and complete, and every id defined.
func requireRanks(t *testing.T, u *program.Up, run string, ranks int) {
	t.Helper()
	u.Settle(t)
	const counted = "SELECT uniqExact(rank), count(), uniqExact(rank, site_id, step) FROM tap.tensors WHERE run = '%s'"
	rows := fmt.Sprint(ranks * recorded.TensorsOfSmallRank)
	if got, want := u.Query(t, fmt.Sprintf(counted, run))[0], []string{strconv.Itoa(ranks), rows, rows}; !slices.Equal(got, want) {
		t.Errorf("run %s: ranks, tensors, different ones: %v, want %v", run, got, want)
	}
	const whole = "SELECT count(), countIf(complete) FROM tap.completeness WHERE run = '%s'"
	if got, want := u.Query(t, fmt.Sprintf(whole, run))[0], []string{strconv.Itoa(ranks), strconv.Itoa(ranks)}; !slices.Equal(got, want) {
		t.Errorf("run %s: ranks, complete ones: %v, want %v", run, got, want)
	}
	if lost := u.Query(t, "SELECT kind, count() FROM tap.undefined_ids GROUP BY kind"); len(lost) > 0 {
		t.Errorf("run %s: ids without a definition: %v", run, lost)
	}
}

// numberFrom is a number of the environment, or the usual one.
func numberFrom(t *testing.T, name string, usual int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}
