package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/internal/recorded"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// sums is a number for the content of each table, by name, and one for how many rows lie there.
func (u *upProcess) sums(tb testing.TB) map[string]string {
	tb.Helper()
	sums := map[string]string{}
	for _, table := range schemas.Tables() {
		final := "" // measurements stand there once, without further ado
		if table.Class == schemas.Definition {
			final = " FINAL"
		}
		rows := u.query(tb, "SELECT count(), sum(cityHash64(*)) FROM tap_store."+table.Kind()+final)
		sums[table.Kind()] = rows[0][0] + " " + rows[0][1]
	}
	return sums
}

// twoRuns stores two recorded dumps.
func twoRuns(tb testing.TB, u *upProcess) []published {
	tb.Helper()
	sources := []published{{recorded.Unpack(tb, "D_tp_rank1_nan"), "bad"}, {recorded.Unpack(tb, "A_llama_mix_statistics"), "good"}}
	for _, s := range sources {
		u.publish(tb, s.dir, s.run)
	}
	awaitStored(tb, connectStream(tb, u.endpoint.NATS), "clickhouse", "parquet")
	return sources
}

func (u *upProcess) mustStop(tb testing.TB) {
	tb.Helper()
	if err := u.stop(); err != nil {
		tb.Fatal(err)
	}
}

func requireSums(tb testing.TB, u *upProcess, want map[string]string) {
	tb.Helper()
	got := u.sums(tb)
	for table := range maps.Keys(want) {
		if got[table] != want[table] {
			tb.Errorf("rows and hash of %s: %s, want %s", table, got[table], want[table])
		}
	}
}

func TestReplayIntoEmptyTablesGivesTheSameRows(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	u := startUp(t, data, "--archive-age", "100ms")
	sources := twoRuns(t, u)
	want := u.sums(t)

	if out := process(t, u.setting, "replay"); out.status != exitError || !strings.Contains(out.stderr, "is held by process") {
		t.Errorf("replay while up runs: %v", out)
	}
	u.mustStop(t)
	for _, args := range [][]string{{"replay"}, {"replay", "--rebuild"}} {
		out := process(t, u.setting, args...)
		if out.status != 0 || !strings.HasSuffix(out.stdout, "messages of the stream are stored\n") {
			t.Fatalf("%q: %v", args, out)
		}
		t.Logf("%q: %s", args, strings.TrimSpace(out.stdout))
		u = startUp(t, data, "--archive-age", "100ms")
		requireSums(t, u, want)
		u.mustStop(t)
	}
	requireEqual(t, startUp(t, data), sources)
}

func TestReplayThatIsKilledIsFinishedByTheNextStart(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	u := startUp(t, data, "--archive-age", "100ms")
	sources := twoRuns(t, u)
	want := u.sums(t)
	u.mustStop(t)
	for _, milliseconds := range []int{250, 350, 450, 550, 700} {
		replay := newUpProcess(data, command(t, u.setting, "replay", "--rebuild"))
		if err := replay.begin(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(milliseconds) * time.Millisecond)
		if err := replay.kill(); err != nil {
			t.Fatal(err)
		}
		t.Logf("killed after %d ms: %s%s", milliseconds, replay.stdout, replay.stderr)
	}
	u = startUp(t, data, "--archive-age", "100ms")
	awaitStored(t, connectStream(t, u.endpoint.NATS), "clickhouse", "parquet")
	requireSums(t, u, want)
	requireEqual(t, u, sources)
}

func TestUpFetchesWhatTheArchiveLost(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	u := startUp(t, data, "--archive-age", "100ms")
	sources := twoRuns(t, u)
	u.mustStop(t)
	files, err := filepath.Glob(filepath.Join(u.endpoint.Archive, "event=tensor", "run=*", "*.parquet"))
	if err != nil || len(files) == 0 {
		t.Fatalf("files of the archive: %v, %v", files, err)
	}
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	u = startUp(t, data, "--archive-age", "100ms")
	if !strings.Contains(u.stderr.String(), "archive files are damaged") {
		t.Errorf("up says nothing of the file that is gone: %s", u.stderr)
	}
	requireEqual(t, u, sources)
}

func TestRebuildIsRefusedWhenTheStreamCanNotFillTheTables(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	u := startUp(t, data, "--archive-age", "100ms")
	twoRuns(t, u)
	want := u.sums(t)
	purge(t, connectStream(t, u.endpoint.NATS), 4)
	u.mustStop(t)
	out := process(t, u.setting, "replay", "--rebuild")
	if out.status != exitError || !strings.Contains(out.stderr, "no longer holds its first messages") || !strings.Contains(out.stderr, "replay without --rebuild") {
		t.Error(out)
	}
	if out := process(t, u.setting, "replay"); out.status != 0 {
		t.Error(out)
	}
	u = startUp(t, data)
	requireSums(t, u, want)
	u.mustStop(t)
}

// purge removes the messages before that place.
func purge(tb testing.TB, js jetstream.JetStream, before uint64) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), 10*time.Second)
	defer cancel()
	stream, err := js.Stream(ctx, pipelines.StreamName)
	if err == nil {
		err = stream.Purge(ctx, jetstream.WithPurgeSequence(before))
	}
	if err != nil {
		tb.Fatal(fmt.Errorf("purge the stream: %w", err))
	}
}
