package delivery

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tensortap/tensortap/e2e/internal/program"
)

func TestArchiveAloneMakesTheStreamAndTheTablesAgain(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	u := program.StartUp(t, data, "--archive-age", "100ms")
	sources := twoRuns(t, u)
	want := sums(t, u)
	mustStop(t, u)
	for _, lost := range [][]string{{"clickhouse"}, {"nats", "clickhouse"}} {
		t.Log(lost)
		for _, name := range lost {
			folder := filepath.Join(data, name)
			if _, err := os.Stat(folder); err != nil {
				t.Fatal(err)
			}
			if err := os.RemoveAll(folder); err != nil {
				t.Fatal(err)
			}
		}
		out := program.Run(t, u.Setting, "restore")
		if out.Status != 0 || !strings.Contains(out.Stdout, "restored ") {
			t.Fatalf("restore: %v", out)
		}
		t.Log(out.Stdout)
		u = program.StartUp(t, data, "--archive-age", "100ms")
		requireSums(t, u, want)
		mustStop(t, u)
	}
	elsewhere := t.TempDir()
	out := program.Run(t, program.Setting{Data: elsewhere}, "restore", "--from", filepath.Join(data, "archive"))
	if out.Status != 0 {
		t.Fatalf("restore --from: %v", out)
	}
	u = program.StartUp(t, elsewhere, "--archive-age", "100ms")
	requireSums(t, u, want)
	requireEqual(t, u, sources)
}

func TestRestoreLeavesOutDamagedFilesAndNamesThem(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	u := program.StartUp(t, data, "--archive-age", "100ms")
	twoRuns(t, u)
	mustStop(t, u)
	damaged := firstFile(t, data, filesOfTensors)
	flipBit(t, damaged)
	elsewhere := program.Setting{Data: t.TempDir()}
	out := program.Run(t, elsewhere, "restore", "--from", filepath.Join(data, "archive"))
	if out.Status != program.ExitError || !strings.Contains(out.Stderr, filepath.Base(damaged)) || !strings.Contains(out.Stdout, "restored ") {
		t.Errorf("restore of a damaged archive: %v", out)
	}
	if out := program.Run(t, elsewhere, "restore", "--from", data); out.Status != program.ExitError || !strings.Contains(out.Stderr, "neither a manifest nor files") {
		t.Errorf("restore of a folder that is no archive: %v", out)
	}
	if out := program.Run(t, elsewhere, "restore", "--from", filepath.Join(data, "missing")); out.Status != program.ExitError || !strings.Contains(out.Stderr, "no such file") {
		t.Errorf("restore of no archive: %v", out)
	}
	u = program.StartUp(t, elsewhere.Data)
	if got := u.Query(t, "SELECT uniqExact(run) FROM tap.tensors")[0][0]; got == "0" {
		t.Errorf("%s runs were restored beside the damaged file", got)
	}
}

// TestNothingIsJudgedWhileAnArchiveIsRestored takes the file away that says which comparisons were asked for: a judge would
// ask for that of the baseline again.
func TestNothingIsJudgedWhileAnArchiveIsRestored(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	u := program.StartUp(t, data, "--archive-age", "100ms")
	twoRuns(t, u)
	says(t, u, 0, nil, "baseline", "set", "nightly", "--run", "good")
	awaitDeclared(t, u)
	u.Settle(t)
	mustStop(t, u)
	flipBit(t, firstFile(t, data, filesOfDeclared))
	elsewhere := program.Setting{Data: t.TempDir()}
	out := program.Run(t, elsewhere, "restore", "--from", filepath.Join(data, "archive"))
	if out.Status != program.ExitError || !strings.Contains(out.Stdout, "restored ") {
		t.Fatalf("restore of a damaged archive: %v", out)
	}
	if files, err := filepath.Glob(filepath.Join(elsewhere.Data, filesOfDeclared)); err != nil || len(files) > 0 {
		t.Errorf("while it restored, the system asked for comparisons of its own: %q, %v", files, err)
	}
}

func awaitDeclared(tb testing.TB, u *program.Up) {
	tb.Helper()
	err := program.Await(3*time.Minute, "the comparison of the baseline", func() bool {
		return u.Query(tb, "SELECT count() FROM tap.declared_comparisons")[0][0] == "1"
	})
	if err != nil {
		tb.Fatal(err)
	}
}

func TestPublishingAgainStoresWhatTheTablesLost(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	u := program.StartUp(t, data, "--archive-age", "100ms")
	sources := twoRuns(t, u)
	want := sums(t, u)
	program.Execute(t, u, "TRUNCATE TABLE tap_store.tensor")
	mustStop(t, u)                                                               // a running consumer remembers which batches it stored
	u = program.StartUp(t, data, "--archive-age", "100ms", "--check-every", "0") // else the start mends them
	out := program.Run(t, u.Setting, "publish", "msprobe", sources[0].dir, "--run", sources[0].run)
	if out.Status != program.ExitError || !strings.Contains(out.Stderr, "tensortap replay") {
		t.Errorf("publish of what the stream took a moment ago and the tables lost: %v", out)
	}
	forgetIDs(t, u)
	for _, s := range sources {
		u.Publish(t, s.dir, s.run)
	}
	u.Settle(t)
	requireSums(t, u, want)
	if out := program.Run(t, u.Setting, "publish", "msprobe", sources[0].dir, "--run", sources[0].run); out.Status != 0 || !publishedNothing(out) {
		t.Errorf("publish of what is stored: %v", out)
	}
}
