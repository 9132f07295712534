package collector

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/e2e/internal/torch"
	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/internal/logs"
	"github.com/tensortap/tensortap/schemas"
)

// TestWhatEachProcessPrintsIsKept launches a program of several processes, and asks for what they have printed.
func TestWhatEachProcessPrintsIsKept(t *testing.T) {
	t.Parallel()
	python := torch.Python(t)
	s := program.Launching(t)
	seen := program.Run(t, s, "run", "--run", "talk", "--", python, "testdata/prints.py")
	for _, want := range []string{"captured 42\n", "by a shell\n", "child by fork\n", "child by spawn\n", "last words\n"} {
		if strings.Count(seen.Stdout, want) != 1 {
			t.Errorf("the user sees %q not once: %v", want, seen)
		}
	}
	if strings.Count(seen.Stderr, "native words\n") != 2 || seen.Status != 0 {
		t.Errorf("of the program that prints: %v", seen)
	}
	kept := program.Run(t, s, "logs", "--run", "talk")
	pids := map[string]bool{}
	for _, want := range []string{
		`rank 0 pid (\d+)(?: [a-z]+)? out \| captured 42`, `rank 0 pid (\d+)(?: [a-z]+)? out \| by a shell`, `rank - pid (\d+)(?: [a-z]+)? out \| child by fork`, `rank - pid (\d+)(?: [a-z]+)? out \| child by spawn`,
		`rank - pid (\d+)(?: [a-z]+)? err \| native words`, `rank 0 pid (\d+)(?: [a-z]+)? out \| last words`,
	} {
		found := regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d ` + want).FindStringSubmatch(kept.Stdout)
		if found == nil {
			t.Errorf("kept lacks %q: %v", want, kept)
			continue
		}
		pids[found[1]] = true
	}
	if len(pids) != 3 {
		t.Errorf("lines of %d processes, want 3: %v", len(pids), kept)
	}
	at := program.Run(t, s, "logs", "--run", "talk", "--grep", "native|last words", "--level", "info")
	if strings.Count(at.Stdout, "\n") != 3 || strings.Count(at.Stdout, "native words") != 2 {
		t.Errorf("lines that match: %v", at)
	}
	if all := program.Run(t, s, "report", "completeness", "--run", "talk", "--output", "csv"); strings.Count(all.Stdout, "\n") != 2 || strings.Contains(all.Stdout, "4294967295") {
		t.Errorf("what is no rank is one: %v", all)
	}
	ranked := program.Run(t, s, "logs", "--run", "talk", "--rank", "0")
	if strings.Contains(ranked.Stdout, "child") || !strings.Contains(ranked.Stdout, "last words") {
		t.Errorf("of rank 0: %v", ranked)
	}
	if nobody := program.Run(t, s, "logs", "--run", "talk", "--rank", "7"); nobody.Status != 2 || !strings.Contains(nobody.Stderr, "--rank 7: no process") {
		t.Errorf("of a rank that is none: %v", nobody)
	}
	off := program.Run(t, s, "run", "--run", "off", "--logs=off", "--", python, "-c", "print('as ever')")
	if out := program.Run(t, s, "logs", "--run", "off"); off.Stdout != "as ever\n" || out.Status != 2 || !strings.Contains(out.Stderr, "nothing is kept") {
		t.Errorf("with --logs=off: %v, %v", off, out)
	}
	if out := program.Run(t, s, "logs", "--run", "tallk"); out.Status != 2 || !strings.Contains(out.Stderr, `no run is named "tallk"; the nearest: "talk"`) {
		t.Errorf("of a run that is none: %v", out)
	}
}

func TestAProgramRunsThoughWhatItPrintsCannotBeKept(t *testing.T) {
	t.Parallel()
	s := program.Setting{Data: t.TempDir()}
	if err := os.WriteFile(filepath.Join(s.Data, "logs"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	out := program.Run(t, s, "run", "--run", "none", "--", "echo", "as ever")
	if out.Status != 0 || out.Stdout != "as ever\n" || !strings.Contains(out.Stderr, "is not kept: make the folder") {
		t.Errorf("where a file is in the way: %v", out)
	}
}

func TestAProcessOfAnotherHostIsNotTheRankOfOneOfThis(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	const run, pid = "printed elsewhere", 1 << 22 // more than any process has
	spool := testbed.NewSpool(t, filepath.Join(u.Data, "spool"), testbed.SpoolOptions{Run: run, Rank: 5, Epoch: 91, PID: pid})
	spool.Step(0, 1)
	spool.Close()
	err := program.Await(time.Minute, "the rank to be stored", func() bool {
		rows := u.Query(t, `SELECT count() FROM tap_store.rank WHERE pid = 4194304 AND host = 'here'`)
		return rows[0][0] == "1"
	})
	if err != nil {
		t.Fatal(err)
	}
	launch, err := logs.NewLaunch(filepath.Join(u.Data, "logs", schemas.FormatID(schemas.RunID(run))), time.Now())
	if err == nil {
		err = os.WriteFile(filepath.Join(string(launch), "4194304.out"), []byte("words\n"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if out := program.Run(t, u.Setting, "logs", "--run", run); !strings.Contains(out.Stdout, "rank - pid 4194304 out | words") {
		t.Errorf("of a process with the id of one on another host: %v", out)
	}
}
