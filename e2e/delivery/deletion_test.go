package delivery

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/analysis/verdicts"
	"github.com/tensortap/tensortap/consumers/consumertest"
	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// says runs a command, and expects that status and those words.
func says(t *testing.T, u *program.Up, status int, words []string, args ...string) string {
	t.Helper()
	out := program.Run(t, u.Setting, args...)
	for _, text := range words {
		if !strings.Contains(out.Stdout+out.Stderr, text) || out.Status != status {
			t.Errorf("%v: %v, want status %d and %q", args, out, status, text)
		}
	}
	return out.Stdout
}

// requireGone checks that no store has anything of run bad, that nothing seems lost, and that good is as it was.
func requireGone(t *testing.T, u *program.Up, good []string) {
	t.Helper()
	says(t, u, 0, []string{"nothing is lost, nothing is damaged"}, "verify")
	says(t, u, 0, []string{"run bad was deleted on "}, "runs", "delete", "bad")
	if csv := says(t, u, 0, []string{"good,tables,"}, "disk", "--output", "csv"); strings.Contains(csv, "bad,") || strings.Contains(csv, schemas.FormatID(schemas.RunID("bad"))) {
		t.Errorf("the deleted run takes room: %s", csv)
	}
	if now := runRows(t, u, "good"); strings.Join(now, " ") != strings.Join(good, " ") {
		t.Errorf("rows of run good are %v, before %v", now, good)
	}
	if rows := runRows(t, u, "bad"); strings.Trim(strings.Join(rows, ""), "0") != "" {
		t.Errorf("rows of run bad are %v", rows)
	}
}

// runRows are the rows of a run in each table that has its id.
func runRows(t *testing.T, u *program.Up, run string) []string {
	t.Helper()
	var counts []string
	for _, table := range schemas.Tables() {
		if table.Column("run_id") >= 0 {
			counts = append(counts, "(SELECT count() FROM tap_store."+table.Kind()+" WHERE run_id = xxh3(concat('"+run+"', char(31))))")
		}
	}
	return u.Query(t, "SELECT "+strings.Join(counts, ", "))[0]
}

func TestADeletedRunIsGoneEverywhereAndStaysOut(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	u := program.StartUp(t, data, "--archive-age", "100ms")
	sources := twoRuns(t, u)
	good := runRows(t, u, "good")
	copied := filepath.Join(t.TempDir(), "archive")
	if err := os.CopyFS(copied, os.DirFS(u.Endpoint.Archive)); err != nil {
		t.Fatal(err)
	}

	says(t, u, 0, []string{"run bad is pinned"}, "runs", "pin", "bad")
	if table := says(t, u, 0, []string{"bad"}, "runs", "--columns", "name,pinned,bytes", "--output", "csv"); !strings.Contains(table, "bad,1,") || !strings.Contains(table, "good,0,") || strings.Contains(table, ",0\n") {
		t.Errorf("runs: %s, want bad pinned, and the bytes of both", table)
	}
	says(t, u, program.ExitError, []string{"run bad is kept: it is pinned; --force "}, "runs", "delete", "bad", "--yes")
	says(t, u, 0, []string{"run bad is no longer pinned"}, "runs", "unpin", "bad")
	says(t, u, program.ExitError, []string{`run "bad" is not pinned`}, "runs", "unpin", "bad")
	says(t, u, program.ExitError, []string{"nobody answered: give --yes"}, "runs", "delete", "bad")
	says(t, u, program.ExitError, []string{"bod"}, "runs", "delete", "bod", "--yes")
	says(t, u, 0, []string{"run bad takes ", "  tables ", "  archive ", "  stream ", "run bad is deleted: ", "nothing of it is left"}, "runs", "delete", "bad", "--yes")
	requireGone(t, u, good)

	says(t, u, program.ExitError, []string{`run "bad" was deleted on `, "choose another name"}, "publish", "msprobe", sources[0].dir, "--run", "bad")
	says(t, u, program.ExitError, []string{`run "bad" was deleted on `}, "runs", "pin", "bad")
	comesLate(t, u, "bad")
	healed(t, u, program.ExitSame, "nothing is lost, nothing is damaged")
	mustStop(t, u)
	says(t, u, 0, []string{"restored 0 messages", "left out of runs that were deleted"}, "restore", "--from", copied)
	says(t, u, 0, nil, "replay", "--rebuild")
	u = program.StartUp(t, data, "--archive-age", "100ms")
	if rows := runRows(t, u, "bad"); strings.Trim(strings.Join(rows, ""), "0") != "" {
		t.Errorf("after a restore, a rebuild and a start, rows of run bad are %v", rows)
	}
	requireSwept(t, u, "bad")
	says(t, u, 0, []string{"nothing is lost, nothing is damaged"}, "verify")
	if letters := u.Query(t, "SELECT count() FROM tap_store.dead_letter"); letters[0][0] != "0" {
		t.Errorf("%s dead letters, want none", letters[0][0])
	}
}

// requireSwept waits until the stream has no more of what came late of a deleted run: who refused it ended before it swept.
func requireSwept(t *testing.T, u *program.Up, run string) {
	t.Helper()
	js := program.ConnectStream(t, u.Endpoint.NATS)
	err := program.Await(5*time.Minute, "late events to be swept", func() bool {
		last, err := pipelines.LastOfRun(t.Context(), js, schemas.RunID(run))
		return err == nil && last == 0
	})
	if err != nil {
		t.Error(err)
	}
}

// comesLate publishes an event of a deleted run, and waits until both stores have refused it.
func comesLate(t *testing.T, u *program.Up, run string) {
	t.Helper()
	js := program.ConnectStream(t, u.Endpoint.NATS)
	of := consumertest.Producer(1)
	of.RunID = schemas.RunID(run)
	m := consumertest.Messages(consumertest.Batches(t, "step", of, 1, 10))[0]
	if _, err := js.PublishMsg(t.Context(), &nats.Msg{Subject: m.Subject(), Header: m.NATSHeader(), Data: m.Data}); err != nil {
		t.Fatal(err)
	}
	awaitStored(t, js, "clickhouse", "parquet")
}

func TestADeletionThatIsKilledIsFinishedByTheNextStart(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	u := program.StartUp(t, data, "--archive-age", "100ms")
	sources := twoRuns(t, u)
	makeOld(t, sources[0].dir, 100*time.Hour)
	u.Publish(t, sources[0].dir, "old")
	u.Publish(t, sources[0].dir, "reduced")
	rules := program.TextFile(t, "rules:\n  - {runs: reduced, keep_only_verdicts_after: 1h}\n  - {runs: \"*\", delete_after: 1h}\n")
	trend := says(t, u, 0, nil, "report", "trend", "--run", "reduced", "--statistic", "max", "--output", "csv")
	says(t, u, 0, nil, "runs", "pin", "good")
	if table := says(t, u, 0, []string{"bad,", "old,", "it is pinned"}, "disk", "--retention", rules, "--output", "csv"); !strings.Contains(table, "reduced,details,") || strings.Count(table, "it is pinned") != 1 {
		t.Errorf("disk --retention: %s, want run good pinned alone, and of run reduced the details", table)
	}
	good := runRows(t, u, "good")
	asking := program.Command(t, u.Setting, "runs", "delete", "bad", "--yes")
	decided := watchFates(t, u)
	if err := asking.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-decided:
	case <-time.After(5 * time.Minute):
		t.Fatal("the deletion was not decided within five minutes")
	}
	if err := u.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = asking.Process.Kill()
	_ = asking.Wait()
	u = program.StartUp(t, data, "--archive-age", "100ms", "--retention", rules)
	byRules := func() bool { return strings.Contains(u.Stderr.String(), "the time of a run is over") }
	if err := program.Await(5*time.Minute, "run old is deleted by the rules", byRules); err != nil {
		t.Errorf("%v: up says %s", err, u.Stderr)
	}
	says(t, u, 0, []string{"run old "}, "runs", "delete", "old", "--yes") // waits until it is gone
	requireReduced(t, u, sources[0].dir, trend)
	requireGone(t, u, good)
}

// TestNoRunGoesByTheRulesWhileTheTablesAreBehind: what they lack may speak for it, as a baseline that was set since.
func TestNoRunGoesByTheRulesWhileTheTablesAreBehind(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	u := program.StartUp(t, data)
	dir := recorded.Unpack(t, "A_llama_mix_statistics")
	makeOld(t, dir, 100*time.Hour)
	u.Publish(t, dir, "old")
	u.Settle(t)
	js := program.ConnectStream(t, u.Endpoint.NATS)
	if _, err := js.PauseConsumer(t.Context(), pipelines.StreamName, "clickhouse", time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	baseline, err := verdicts.Baseline(schemas.BaselineRow{Name: "golden", ChangedTimeNs: 1, Benches: []string{"old"}, Tolerance: -1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.PublishMsg(t.Context(), &nats.Msg{Subject: baseline.Subject(), Header: baseline.NATSHeader(), Data: baseline.Data}); err != nil {
		t.Fatal(err)
	}
	mustStop(t, u)
	rules := program.TextFile(t, "rules:\n  - {runs: \"*\", delete_after: 1h}\n")
	u = program.StartUp(t, data, "--retention", rules)
	said := func(words string) bool { return strings.Contains(u.Stderr.String(), words) }
	const decided = "the time of a run is over"
	if err := program.Await(3*time.Minute, "the rules are asked", func() bool { return said("not known whose time is over") || said(decided) }); err != nil {
		t.Errorf("%v: up says %s", err, u.Stderr)
	}
	if said(decided) {
		t.Errorf("a run that a baseline names goes: %s", u.Stderr)
	}
}

// requireReduced checks that of run reduced the aggregates are as they were, and its tensors are known to be removed.
func requireReduced(t *testing.T, u *program.Up, dir, trend string) {
	t.Helper()
	reduced := func() bool { return u.Query(t, "SELECT count() FROM tap.tensors WHERE run = 'reduced'")[0][0] == "0" }
	if err := program.Await(5*time.Minute, "run reduced has its verdicts alone", reduced); err != nil {
		t.Errorf("%v: up says %s", err, u.Stderr)
	}
	if steps := u.Query(t, "SELECT count() FROM tap.steps WHERE run = 'reduced'"); steps[0][0] == "0" {
		t.Error("run reduced has no steps")
	}
	if now := says(t, u, 0, []string{"retention removed details on "}, "report", "trend", "--run", "reduced", "--statistic", "max", "--output", "csv"); now != trend {
		t.Errorf("trend of run reduced: %s, before %s", now, trend)
	}
	says(t, u, program.ExitError, []string{"retention removed its tensors on "}, "compare", "reduced", "good")
	says(t, u, 0, []string{"reduced,details", "good,"}, "runs", "--columns", "name,removed", "--output", "csv")
	says(t, u, program.ExitError, []string{`of run "reduced" retention removed the details on `, "choose another name"}, "publish", "msprobe", dir, "--run", "reduced")
}

// watchFates is closed once a deletion is decided.
func watchFates(t *testing.T, u *program.Up) <-chan struct{} {
	t.Helper()
	bucket, err := program.ConnectStream(t, u.Endpoint.NATS).KeyValue(t.Context(), pipelines.FateBucket)
	if err != nil {
		t.Fatal(err)
	}
	watcher, err := bucket.WatchAll(t.Context(), jetstream.UpdatesOnly())
	if err != nil {
		t.Fatal(err)
	}
	decided := make(chan struct{})
	go func() {
		<-watcher.Updates()
		close(decided)
	}()
	return decided
}

// makeOld has the files of a dump be of so long ago.
func makeOld(t *testing.T, dir string, ago time.Duration) {
	t.Helper()
	before := time.Now().Add(-ago)
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(path, before, before))
	})
	if err != nil {
		t.Fatal(err)
	}
}
