package delivery

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// sums is a number for the content of each table, by name, and one for how many rows lie there.
func sums(tb testing.TB, u *program.Up) map[string]string {
	tb.Helper()
	sums := map[string]string{}
	for _, row := range u.Query(tb, sumsSQL()) {
		sums[row[0]] = row[1] + " " + row[2]
	}
	return sums
}

// sumsSQL hashes rows as text: a hash of a row with a null in it would be null, and no part of the sum.
func sumsSQL() string {
	var parts []string
	for _, table := range schemas.Tables() {
		if table.Kind() == schemas.Audit().Kind() {
			continue // the commands of tests write lines of their own
		}
		final := "" // measurements stand there once, without further ado
		if table.Class == schemas.Definition {
			final = " FINAL"
		}
		parts = append(parts, fmt.Sprintf("SELECT '%s', count(), sum(cityHash64(toString(tuple(*)))) FROM tap_store.%[1]s%s", table.Kind(), final))
	}
	return strings.Join(parts, " UNION ALL ")
}

// twoRuns stores two recorded dumps.
func twoRuns(tb testing.TB, u *program.Up) []published {
	tb.Helper()
	sources := []published{{recorded.Unpack(tb, "D_tp_rank1_nan"), "bad"}, {recorded.Unpack(tb, "A_llama_mix_statistics"), "good"}}
	for _, s := range sources {
		u.Publish(tb, s.dir, s.run)
	}
	awaitStored(tb, program.ConnectStream(tb, u.Endpoint.NATS), "clickhouse", "parquet")
	return sources
}

func mustStop(tb testing.TB, u *program.Up) {
	tb.Helper()
	if err := u.Stop(); err != nil {
		tb.Fatal(err)
	}
}

func requireSums(tb testing.TB, u *program.Up, want map[string]string) {
	tb.Helper()
	got := sums(tb, u)
	for table := range maps.Keys(want) {
		if got[table] != want[table] {
			tb.Errorf("rows and hash of %s: %s, want %s", table, got[table], want[table])
		}
	}
}

func TestReplayIntoEmptyTablesGivesTheSameRows(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	u := program.StartUp(t, data, "--archive-age", "100ms")
	sources := twoRuns(t, u)
	want := sums(t, u)

	if out := program.Run(t, u.Setting, "replay"); out.Status != program.ExitError || !strings.Contains(out.Stderr, "is held by process") {
		t.Errorf("replay while up runs: %v", out)
	}
	mustStop(t, u)
	for _, args := range [][]string{{"replay"}, {"replay", "--rebuild"}} {
		out := program.Run(t, u.Setting, args...)
		if out.Status != 0 || !strings.HasSuffix(out.Stdout, "messages of the stream are stored\n") {
			t.Fatalf("%q: %v", args, out)
		}
		t.Logf("%q: %s", args, strings.TrimSpace(out.Stdout))
		u = program.StartUp(t, data, "--archive-age", "100ms")
		requireSums(t, u, want)
		mustStop(t, u)
	}
	u = program.StartUp(t, data)
	requireDeeds(t, u, "replay  done", "replay new tables done")
	requireEqual(t, u, sources)
}

// requireDeeds says what the report of audit has of replays and restores, the first first.
func requireDeeds(tb testing.TB, u *program.Up, want ...string) {
	tb.Helper()
	awaitStored(tb, program.ConnectStream(tb, u.Endpoint.NATS), "clickhouse")
	var got []string
	for _, row := range u.Query(tb, "SELECT deed, target, result FROM tap.audits WHERE deed IN ('replay', 'restore') ORDER BY began_time_ns") {
		got = append(got, strings.Join(row, " "))
	}
	if !slices.Equal(got, want) {
		tb.Errorf("written down: %q, want %q", got, want)
	}
}

func TestReplayThatIsKilledIsFinishedByTheNextStart(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	u := program.StartUp(t, data, "--archive-age", "100ms")
	sources := twoRuns(t, u)
	want := sums(t, u)
	mustStop(t, u)
	for _, milliseconds := range []int{250, 350, 450, 550, 700} {
		replay := program.NewUp(data, program.Command(t, u.Setting, "replay", "--rebuild"))
		if err := replay.Begin(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(milliseconds) * time.Millisecond)
		if err := replay.Kill(); err != nil {
			t.Fatal(err)
		}
		t.Logf("killed after %d ms: %s%s", milliseconds, replay.Stdout, replay.Stderr)
	}
	u = program.StartUp(t, data, "--archive-age", "100ms")
	awaitStored(t, program.ConnectStream(t, u.Endpoint.NATS), "clickhouse", "parquet")
	requireSums(t, u, want)
	requireEqual(t, u, sources)
}

func TestUpFetchesWhatTheArchiveLost(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	u := program.StartUp(t, data, "--archive-age", "100ms")
	sources := twoRuns(t, u)
	want := sums(t, u)
	mustStop(t, u)
	files, err := filepath.Glob(filepath.Join(u.Endpoint.Archive, "event=tensor", "run=*", "*.parquet"))
	if err != nil || len(files) == 0 {
		t.Fatalf("files of the archive: %v, %v", files, err)
	}
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	u = program.StartUp(t, data, "--archive-age", "100ms")
	if !strings.Contains(u.Stderr.String(), "the archive is damaged") {
		t.Errorf("up says nothing of the file that is gone: %s", u.Stderr)
	}
	mends(t, u, want, "the archive has again, from the stream: run ")
	requireEqual(t, u, sources)
}

func TestRebuildIsRefusedWhenTheStreamCanNotFillTheTables(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	u := program.StartUp(t, data, "--archive-age", "100ms")
	twoRuns(t, u)
	want := sums(t, u)
	purge(t, program.ConnectStream(t, u.Endpoint.NATS), 4)
	mustStop(t, u)
	out := program.Run(t, u.Setting, "replay", "--rebuild")
	if out.Status != program.ExitError || !strings.Contains(out.Stderr, "no longer holds its first messages") || !strings.Contains(out.Stderr, "replay without --rebuild") {
		t.Error(out)
	}
	if out := program.Run(t, u.Setting, "replay"); out.Status != 0 {
		t.Error(out)
	}
	u = program.StartUp(t, data)
	requireSums(t, u, want)
	requireDeeds(t, u, "replay new tables refused", "replay  done")
	mustStop(t, u)
}

// purge removes the messages before that place.
func purge(tb testing.TB, js jetstream.JetStream, before uint64) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), program.Patience)
	defer cancel()
	stream, err := js.Stream(ctx, pipelines.StreamName)
	if err == nil {
		err = stream.Purge(ctx, jetstream.WithPurgeSequence(before))
	}
	if err != nil {
		tb.Fatal(fmt.Errorf("purge the stream: %w", err))
	}
}

func TestRebuildIsRefusedWhenTheStreamIsDamaged(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(*testing.T, string){
		"a bit is flipped": flipBit,
		"its end is gone": func(t *testing.T, block string) {
			t.Helper()
			info, err := os.Stat(block)
			if err == nil {
				err = os.Truncate(block, info.Size()/2)
			}
			if err != nil {
				t.Fatal(err)
			}
		},
		"it was lost": func(t *testing.T, block string) {
			t.Helper()
			if err := os.RemoveAll(filepath.Dir(filepath.Dir(block))); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := t.TempDir()
			u := program.StartUp(t, data, "--archive-age", "100ms")
			twoRuns(t, u)
			want := sums(t, u)
			mustStop(t, u)
			damage(t, firstFile(t, data, blocksOfStream))
			out := program.Run(t, u.Setting, "replay", "--rebuild")
			if out.Status != program.ExitError || !strings.Contains(out.Stderr, "nothing was changed") {
				t.Errorf("replay --rebuild: %v", out)
			}
			t.Log(out.Stderr)
			u = program.StartUp(t, data)
			requireSums(t, u, want)
			mustStop(t, u)
		})
	}
}
