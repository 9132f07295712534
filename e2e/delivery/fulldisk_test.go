package delivery

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/internal/dev/soak"
	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/pipelines"
)

// smallDisk mounts a disk of so many bytes as a part of a folder of data.
func smallDisk(tb testing.TB, data, part, size string) string {
	tb.Helper()
	dir := filepath.Join(data, part)
	if err := program.MountSmall(tb, dir, size); err != nil {
		testbed.Needed(tb, "NOT TESTED: a full disk under "+part+": mounting a small one is not allowed here: "+err.Error())
	}
	return dir
}

func TestAFullDiskUnderTheStreamHoldsPublishers(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	disk := smallDisk(t, data, "nats", "160m")
	u := program.StartUp(t, data, "--archive-age", "100ms")
	sources := []published{{recorded.Unpack(t, "D_tp_golden"), "before"}, {enlarged(t, recorded.Unpack(t, "D_tp_golden"), 150), "in between"}, {recorded.Unpack(t, "D_tp_golden"), "after"}}
	u.Publish(t, sources[0].dir, sources[0].run)
	awaitStored(t, program.ConnectStream(t, u.Endpoint.NATS), "clickhouse", "parquet")
	empty := program.Fill(t, disk, 1<<20)

	publisher := program.NewUp(data, program.Command(t, u.Setting, "publish", "msprobe", sources[1].dir, "--run", sources[1].run))
	if err := publisher.Begin(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = publisher.Kill() })
	if err := program.Await(20*time.Second, "an error of the stream", func() bool { return program.SaysFull(u.Stderr.String()) }); err != nil {
		t.Errorf("%v\nup: %s\npublish: %s", err, u.Stderr, publisher.Stderr)
	}
	if err := program.Await(20*time.Second, "word of the publisher", func() bool { return strings.Contains(publisher.Stderr.String(), "waiting") }); err != nil {
		t.Errorf("%v\npublish: %s%s", err, publisher.Stdout, publisher.Stderr)
	}
	select {
	case <-publisher.Ended:
		t.Errorf("the publisher did not wait: %v\n%s%s", publisher.Cmd.ProcessState, publisher.Stdout, publisher.Stderr)
	case <-time.After(2 * time.Second):
	}
	t.Logf("up: %s\npublish: %s", u.Stderr, publisher.Stderr)
	empty()
	select {
	case <-publisher.Ended:
	case <-time.After(60 * time.Second):
		t.Fatalf("the publisher did not go on within 60 s\nup: %s\npublish: %s", u.Stderr, publisher.Stderr)
	}
	if publisher.Cmd.ProcessState.ExitCode() != 0 || !strings.Contains(publisher.Stderr.String(), "going on") {
		t.Errorf("publish: %v: %s", publisher.Cmd.ProcessState, publisher.Stderr)
	}
	u.Publish(t, sources[2].dir, sources[2].run)
	t.Logf("up: %s", u.Stderr)
	requireAll(t, u, sources)
}

func TestPublishingToAFullStreamSaysSo(t *testing.T) {
	t.Parallel()
	soak.Only(t)
	data := t.TempDir()
	disk := smallDisk(t, data, "nats", "160m")
	u := program.StartUp(t, data, "--archive-age", "100ms")
	empty := program.Fill(t, disk, 0)
	dump := published{recorded.Unpack(t, "D_tp_golden"), "run"}
	publisher := program.NewUp(data, program.Command(t, u.Setting, "publish", "msprobe", dump.dir, "--run", dump.run))
	if err := publisher.Begin(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = publisher.Kill() })
	err := program.Await(20*time.Second, "word of the publisher", func() bool { return strings.Contains(publisher.Stderr.String(), "waiting") })
	if err != nil {
		t.Error(err)
	}
	empty()
	select {
	case <-publisher.Ended:
	case <-time.After(60 * time.Second):
	}
	t.Logf("publish: %v %s%s", publisher.Cmd.ProcessState, publisher.Stdout, publisher.Stderr)
	if publisher.Cmd.ProcessState.ExitCode() != 0 {
		t.Fatalf("publish did not go on\nup: %s", u.Stderr)
	}
	requireAll(t, u, []published{dump})
}

func TestAFullDiskUnderTheEngineHoldsEvents(t *testing.T) {
	t.Parallel()
	fullStore(t, "clickhouse", "256m")
}

func TestAFullDiskUnderTheArchiveHoldsEvents(t *testing.T) {
	t.Parallel()
	fullStore(t, "archive", "32m")
}

// fullStore fills the disk of one store while events flow; the other goes on, and the one when there is room again.
func fullStore(t *testing.T, folder, size string) {
	t.Helper()
	data := t.TempDir()
	disk := smallDisk(t, data, folder, size)
	u := program.StartUp(t, data, "--archive-age", "100ms")
	js := program.ConnectStream(t, u.Endpoint.NATS)
	sources := []published{{recorded.Unpack(t, "D_tp_golden"), "before"}, {enlarged(t, recorded.Unpack(t, "D_tp_golden"), 60), "in between"}, {recorded.Unpack(t, "A_llama_L1_md5"), "still"}}
	u.Publish(t, sources[0].dir, sources[0].run)
	awaitStored(t, js, "clickhouse", "parquet")
	empty := program.Fill(t, disk, 0)
	for _, s := range sources[1:] {
		u.Publish(t, s.dir, s.run)
	}
	full1, other := "clickhouse", "parquet"
	if folder == "archive" {
		full1, other = other, full1
	}
	awaitStored(t, js, other)
	if err := program.Await(20*time.Second, "word of the full disk", func() bool { return program.SaysFull(u.Stderr.String()) }); err != nil {
		t.Errorf("%v\n%s", err, u.Stderr)
	}
	t.Logf("up: %s", firstLines(u.Stderr.String()))
	time.Sleep(time.Second)
	requireBehind(t, js, full1)
	empty()
	requireAll(t, u, sources)
}

func requireBehind(tb testing.TB, js jetstream.JetStream, consumer string) {
	tb.Helper()
	p, err := pipelines.ConsumerProgress(tb.Context(), js, consumer)
	if err != nil || p.CaughtUp() {
		tb.Errorf("%s has nowhere to store, and yet: %+v, %v", consumer, p, err)
	}
}

func firstLines(text string) string {
	var kept bytes.Buffer
	for line := range strings.Lines(text) {
		if kept.Len() < 2000 {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// requireAll checks that all is stored everywhere, and that no report complains. It stops the system.
func requireAll(tb testing.TB, u *program.Up, sources []published) {
	tb.Helper()
	awaitStored(tb, program.ConnectStream(tb, u.Endpoint.NATS), "clickhouse", "parquet")
	requireComplete(tb, u, len(sources))
	requireEqual(tb, u, sources)
}
