package roles

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/natscluster"
	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/pipelines"
)

// TestConsumersShareTheStreamAndTakeOver kills one of them, freezes another, and kills the server that leads the stream.
func TestConsumersShareTheStreamAndTakeOver(t *testing.T) {
	t.Parallel()
	f := startFleet(t, 1)
	tables := f.engines[0]
	data := t.TempDir()
	first := f.consumeThroughAnElection(t, tables, "--store", "archive", "--data", data, "--archive-age", "1s")
	f.load(t, 500*time.Millisecond)
	f.publishOld(t)
	second := f.consume(t, tables)
	await(t, "the second to have its share", func() bool { return strings.Contains(second.Stderr.String(), "a shard is this process's") })
	f.caughtUp(t)
	await(t, "the archive to have some of the load", func() bool { return archived(t, data, "load") > 0 })
	if err := first.Kill(); err != nil {
		t.Fatal(err)
	}
	t.Logf("a consumer is killed: %v", f.caughtUp(t))
	third := f.consume(t, tables, "--retention", program.TextFile(t, "rules:\n  - runs: old\n    delete_after: 1h\n"))
	await(t, "the third to have its share", func() bool { return strings.Contains(third.Stderr.String(), "a shard is this process's") })
	freeze(t, second)
	t.Logf("a consumer is frozen: %v", f.caughtUp(t))
	thaw(t, second)
	await(t, "who was frozen to see it", func() bool { return strings.Contains(second.Stderr.String(), "another process's by now") })
	t.Logf("the stream's leader is killed: %v", f.killLeader(t))
	requireRoles(t, f, tables)
	f.requireAllOnce(t)
	tables.await(t, "the rules to be carried out", noRows("old"))
	requireDeletion(t, f, tables, data, second)
	if err := third.Stop(); err != nil {
		t.Error(err)
	}
}

func TestAConsumerWaitsForAClusterToForm(t *testing.T) {
	t.Parallel()
	c := natscluster.StartWithoutLast(t)
	role := start(t, t.TempDir(), "asking again", "consume", "--store", "archive", "--replicas", "3", "--nats", strings.Join(c.URL[:], ","))
	await(t, "the reason", func() bool { return strings.Contains(role.Stderr.String(), "3 replicas need 3 NATS servers") })
	c.Nodes[natscluster.Nodes-1].Start(t)
	await(t, "the third server", func() bool { return strings.Contains(role.Stdout.String(), "stores events") })
}

// TestAnArchiveIsWholeWhoeverIsKilled has an archive beside that of a system, which another process goes on with.
func TestAnArchiveIsWholeWhoeverIsKilled(t *testing.T) {
	t.Parallel()
	u, data := program.Shared(t), t.TempDir()
	archiving := []string{"consume", "--store", "archive", "--archive-age", "100ms", "--nats", u.Endpoint.NATS}
	first := start(t, data, "stores events", archiving...)
	js := program.ConnectStream(t, u.Endpoint.NATS)
	var consumer string
	await(t, "the archive's consumer", func() bool { consumer = consumerLike(t, js, "parquet-"); return consumer != "" })
	u.Publish(t, recorded.Unpack(t, "B02_weight_mix"), "archived")
	if err := first.Kill(); err != nil {
		t.Fatal(err)
	}
	again := start(t, data, "stores events", archiving...)
	await(t, "the archive to have all", func() bool {
		p, err := pipelines.ConsumerProgress(t.Context(), js, consumer)
		return err == nil && p.CaughtUp() && p.StoredUpTo > 0
	})
	waiting := start(t, data, "another process writes the archive", archiving...)
	for _, role := range []*program.Up{again, waiting} {
		if err := role.Stop(); err != nil {
			t.Error(err)
		}
	}
	restored := t.TempDir()
	if out := program.Run(t, program.Setting{Data: restored}, "restore", "--from", filepath.Join(data, "archive")); out.Status != 0 {
		t.Error(out)
	}
	const counts = "SELECT (SELECT count() FROM tap.tensors WHERE run = 'archived'), (SELECT count() FROM tap.steps WHERE run = 'archived')"
	got := program.Run(t, program.Setting{Data: restored}, "query", counts, "--output", "csv")
	u.Settle(t)
	if want := program.Run(t, u.Setting, "query", counts, "--output", "csv"); got.Stdout != want.Stdout || want.Status != 0 {
		t.Errorf("restored from the archive: %v; want %v", got, want)
	}
}

func TestWhatConsumeLacksIsSaid(t *testing.T) {
	t.Parallel()
	rules := program.TextFile(t, "rules:\n  - runs: old\n    delete_after: 1h\n")
	for name, of := range map[string]struct {
		args []string
		want string
	}{
		"no stream":       {[]string{}, "--nats"},
		"no tables":       {[]string{"--nats", "nats://127.0.0.1:1"}, "--clickhouse"},
		"unknown store":   {[]string{"--nats", "nats://127.0.0.1:1", "--store", "tape"}, `--store "tape": want tables, archive`},
		"nothing there":   {[]string{"--nats", "nats://tap:hush@127.0.0.1:1", "--store", "archive"}, "connect to NATS at nats://127.0.0.1:1"},
		"rules alone":     {[]string{"--nats", "nats://127.0.0.1:1", "--store", "archive", "--retention", rules}, "give --retention to a consume that fills tables"},
		"an age of zero":  {[]string{"--nats", "nats://127.0.0.1:1", "--store", "archive", "--archive-age", "0s"}, "archive age"},
		"too few servers": {[]string{"--nats", program.Shared(t).Endpoint.NATS, "--store", "archive", "--replicas", "3"}, "3 replicas need 3 NATS servers in one cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := program.Run(t, program.Setting{Data: t.TempDir()}, append([]string{"consume"}, of.args...)...)
			if out.Status != program.ExitError || !strings.Contains(out.Stderr, of.want) || strings.Contains(out.Stderr, "hush") {
				t.Errorf("want %q: %v", of.want, out)
			}
		})
	}
}

func TestUpAndConsumeDoNotStoreTheSameStream(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	from := []string{"--nats", u.Endpoint.NATS, "--clickhouse", u.Endpoint.ClickHouse}
	out := program.Run(t, program.Setting{Data: t.TempDir()}, append([]string{"consume"}, from...)...)
	if out.Status != program.ExitError || !strings.Contains(out.Stderr, "a `tensortap up` stores the events of this stream") {
		t.Error(out)
	}
}
