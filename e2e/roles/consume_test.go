package roles

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tensortap/tensortap/e2e/internal/program"
)

// TestConsumersShareTheStreamAndTakeOver kills one of them, freezes another, and kills the server that leads the stream.
func TestConsumersShareTheStreamAndTakeOver(t *testing.T) {
	t.Parallel()
	f := startFleet(t, 1)
	tables := f.engines[0]
	data := t.TempDir()
	first := f.consume(t, tables, "--store", "archive", "--data", data, "--archive-age", "1s")
	f.load(t, 500*time.Millisecond)
	second := f.consume(t, tables)
	await(t, "the second to have its share", func() bool { return strings.Contains(second.Stderr.String(), "a shard is this process's") })
	f.caughtUp(t)
	if err := first.Kill(); err != nil {
		t.Fatal(err)
	}
	t.Logf("a consumer is killed: %v", f.caughtUp(t))
	third := f.consume(t, tables)
	await(t, "the third to have its share", func() bool { return strings.Contains(third.Stderr.String(), "a shard is this process's") })
	freeze(t, second)
	t.Logf("a consumer is frozen: %v", f.caughtUp(t))
	thaw(t, second)
	await(t, "who was frozen to see it", func() bool { return strings.Contains(second.Stderr.String(), "another process's by now") })
	t.Logf("the stream's leader is killed: %v", f.killLeader(t))
	requireRoles(t, f, tables)
	f.requireAllOnce(t)
	for _, role := range []*program.Up{second, third} {
		if err := role.Stop(); err != nil {
			t.Error(err)
		}
	}
	requireArchive(t, f, data)
}

// requireArchive has a consumer of its own go on with an archive, and then restores from that.
func requireArchive(t *testing.T, f *fleet, data string) {
	t.Helper()
	again := f.start(t, data, "stores events", "consume", "--store", "archive", "--archive-age", "1s", "--nats", strings.Join(f.URL[:], ","))
	waiting := f.start(t, data, "another process writes the archive", "consume", "--store", "archive", "--nats", strings.Join(f.URL[:], ","))
	consumer := ""
	for name := range f.consumers(t) {
		if strings.HasPrefix(name, "parquet-") {
			consumer = name
		}
	}
	await(t, "the archive to have all", func() bool { return f.caughtUpConsumer(t, consumer) })
	for _, role := range []*program.Up{again, waiting} {
		if err := role.Stop(); err != nil {
			t.Error(err)
		}
	}
	out := program.Run(t, program.Setting{Data: t.TempDir()}, "restore", "--from", filepath.Join(data, "archive"))
	if out.Status != 0 {
		t.Error(out)
	}
}

func TestWhatConsumeLacksIsSaid(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct {
		args []string
		want string
	}{
		"no stream":       {[]string{}, "--nats"},
		"no tables":       {[]string{"--nats", "nats://127.0.0.1:1"}, "--clickhouse"},
		"unknown store":   {[]string{"--nats", "nats://127.0.0.1:1", "--store", "tape"}, `--store "tape": want tables, archive`},
		"nothing there":   {[]string{"--nats", "nats://tap:hush@127.0.0.1:1", "--store", "archive"}, "connect to NATS at nats://127.0.0.1:1"},
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
