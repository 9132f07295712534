package delivery

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/schemas"
)

// TestLinesOfSeveralDaysAreStored publishes logs whose lines are of more than one UTC day, in each way that there is.
func TestLinesOfSeveralDaysAreStored(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	for name, text := range map[string]string{
		"two lines":        "[2026-11-27 23:59:58] INFO before\n[2026-11-28 00:00:01] INFO after\n",
		"three days":       linesOfDays(150, func(i int) int { return i / 50 }),
		"days in turn":     linesOfDays(150, func(i int) int { return i % 3 }),
		"a day back":       linesOfDays(150, func(i int) int { return 2 - i/50 }),
		"no time at first": "(APIServer pid=7) \n(APIServer pid=7) vLLM\n" + linesOfDays(4, func(int) int { return 0 }),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, run := program.TextFile(t, text), "midnight, "+name
			storesLines(t, u, path, run, strings.Count(text, "\n"))
			before := u.Query(t, batchesOf(run))
			if out := program.Run(t, u.Setting, "publish", "logs", path, "--run", run, "--timezone", "UTC"); out.Status != 0 {
				t.Errorf("publish again: %v", out)
			}
			u.Settle(t)
			if again := u.Query(t, batchesOf(run)); fmt.Sprint(again) != fmt.Sprint(before) {
				t.Errorf("published again, batches and rows are %v, want %v", again, before)
			}
		})
	}
	t.Run("as they are written", func(t *testing.T) {
		t.Parallel()
		followsLines(t, u)
	})
	t.Run("a batch that is there with other rows", func(t *testing.T) {
		t.Parallel()
		saysWhatTheTablesRefused(t, u)
	})
}

func batchesOf(run string) string {
	return fmt.Sprintf("SELECT batch, count(), uniqExact(toDate(fromUnixTimestamp64Nano(event_time_ns, 'UTC'))) FROM tap_store.log WHERE run_id = %d GROUP BY batch ORDER BY batch", schemas.RunID(run))
}

// linesOfDays are so many lines, each of a day after 27 November.
func linesOfDays(count int, day func(i int) int) string {
	var text strings.Builder
	for i := range count {
		at := time.Date(2026, 11, 27+day(i), 12, i/60, i%60, 0, time.UTC)
		fmt.Fprintf(&text, "%s INFO line %d\n", at.Format("[2006-01-02 15:04:05]"), i)
	}
	return text.String()
}

func storesLines(t *testing.T, u *program.Up, path, run string, lines int) {
	t.Helper()
	if out := program.Run(t, u.Setting, "publish", "logs", path, "--run", run, "--timezone", "UTC"); out.Status != 0 {
		t.Fatalf("publish: %v", out)
	}
	stored := fmt.Sprintf("SELECT count() FROM tap_store.log WHERE run_id = %d", schemas.RunID(run)) // publish has waited
	if got, want := fmt.Sprint(u.Query(t, stored)), fmt.Sprintf("[[%d]]", lines); got != want {
		t.Errorf("lines: %s, want %s; dead letters: %v", got, want, deadLetters(t, u))
	}
}

// followsLines has an agent follow two files, whose lines of three days come at once.
func followsLines(t *testing.T, u *program.Up) {
	t.Helper()
	const run = "midnight, followed"
	dir := t.TempDir()
	for name, day := range map[string]int{"a.log": 1, "b.log": 0} {
		text := linesOfDays(20, func(i int) int { return day + i/10 })
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	agent := program.Command(t, u.Setting, "agent", "--spool", t.TempDir(), "--follow", filepath.Join(dir, "*.log"), "--run", run)
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = agent.Process.Kill(), agent.Wait() }()
	var got string
	err := program.Await(time.Minute, "40 lines", func() bool {
		got = fmt.Sprint(u.Query(t, fmt.Sprintf("SELECT count(), uniqExact(stream, seq) FROM tap_store.log WHERE run_id = %d", schemas.RunID(run))))
		return got == "[[40 40]]"
	})
	if err != nil {
		t.Errorf("%v: lines, different ones: %s; dead letters: %v", err, got, deadLetters(t, u))
	}
}

// saysWhatTheTablesRefused publishes a log whose batch the tables hold already, with other rows.
func saysWhatTheTablesRefused(t *testing.T, u *program.Up) {
	t.Helper()
	path, before, after := program.TextFile(t, linesOfDays(4, func(int) int { return 0 })), "refused, before", "refused, after"
	storesLines(t, u, path, before, 4)
	program.Execute(t, u, fmt.Sprintf("INSERT INTO tap_store.log (run_id, rank, epoch, batch, event_time_ns) SELECT %d, rank, epoch, batch, event_time_ns FROM tap_store.log WHERE run_id = %d LIMIT 3",
		schemas.RunID(after), schemas.RunID(before)))
	for range 2 { // the second time it was published before
		out := program.Run(t, u.Setting, "publish", "logs", path, "--run", after, "--timezone", "UTC")
		if out.Status != program.ExitError || !strings.Contains(out.Stderr, "dead-letters") {
			t.Errorf("publish of what the tables refuse: %v", out)
		}
	}
	if out := program.Run(t, u.Setting, "publish", "logs", path, "--run", after, "--timezone", "UTC", "--replace"); out.Status != 0 {
		t.Errorf("publish it as another generation: %v", out)
	}
	if got := fmt.Sprint(u.Query(t, fmt.Sprintf("SELECT count() FROM tap_store.log WHERE run_id = %d AND text != ''", schemas.RunID(after)))); got != "[[4]]" {
		t.Errorf("lines of the other generation: %s, want 4", got)
	}
}
