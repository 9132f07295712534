package delivery

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
)

// TestWhatEarlierProgramsLeftOpens starts today's program on the data folders and spools that earlier ones left when they were
// killed, and asks it what they were asked. testdata/layouts/make.sh has made them.
func TestWhatEarlierProgramsLeftOpens(t *testing.T) {
	t.Parallel()
	kept, err := filepath.Glob("testdata/layouts/*.tar.gz")
	if err != nil || len(kept) == 0 {
		t.Fatalf("find what earlier programs left: %q, %v", kept, err)
	}
	for _, archive := range kept {
		t.Run(strings.TrimSuffix(filepath.Base(archive), ".tar.gz"), func(t *testing.T) {
			t.Parallel()
			opens(t, archive)
		})
	}
}

func opens(t *testing.T, archive string) {
	t.Helper()
	left := t.TempDir()
	if said, err := exec.CommandContext(t.Context(), "tar", "-xzf", archive, "-C", left).CombinedOutput(); err != nil {
		t.Fatalf("unpack %s: %v\n%s", archive, err, said)
	}
	u := program.StartUp(t, filepath.Join(left, "data"), "--archive-age", "100ms")
	program.Served(t, filepath.Join(left, "data", "spool"))
	u.Settle(t)
	answersAre(t, u, filepath.Join(left, "answers"))
	for _, run := range []string{"B00_golden_L0", "B02_weight_L0"} {
		if out := u.Publish(t, recorded.Unpack(t, run), run); !strings.Contains(out.Stdout, "published before") {
			t.Errorf("publish %s again: %v", run, out)
		}
	}
	u.Settle(t)
	answersAre(t, u, filepath.Join(left, "answers"))
	wholeLiveRun(t, u)
	if said := program.Run(t, u.Setting, "verify"); said.Status != 0 {
		t.Errorf("verify: %v", said)
	}
	if err := u.Stop(); err != nil {
		t.Errorf("%v\n%s", err, u.Stderr)
	}
}

// answersAre asks what the earlier program was asked.
func answersAre(t *testing.T, u *program.Up, answers string) {
	t.Helper()
	questions, err := filepath.Glob("testdata/layouts/*.sql")
	if err != nil || len(questions) == 0 {
		t.Fatalf("find the questions: %q, %v", questions, err)
	}
	for _, path := range questions {
		question, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join(answers, strings.TrimSuffix(filepath.Base(path), ".sql")))
		if err != nil {
			t.Fatal(err)
		}
		if out := program.Run(t, u.Setting, "query", string(question), "--output", "csv"); out.Stdout != string(want) {
			t.Errorf("%s: %v\nwant %s", path, out, want)
		}
	}
}

// wholeLiveRun checks a live run. The earlier program's agent was killed when half of it was published.
func wholeLiveRun(t *testing.T, u *program.Up) {
	t.Helper()
	got := u.Query(t, "SELECT step, complete, dropped_count FROM tap.steps AS s INNER JOIN tap.runs AS r ON r.run_id = s.run_id WHERE r.name = 'live' ORDER BY step")
	if want := "[[0 1 0] [1 1 0] [2 1 0] [3 1 0] [4 1 0] [5 1 0]]"; fmt.Sprint(got) != want {
		t.Errorf("step, complete, lost of the live run: %v, want %s", got, want)
	}
	got = u.Query(t, "SELECT step, count() AS n FROM tap.tensors WHERE run = 'live' GROUP BY step ORDER BY step")
	if want := "[[0 10] [1 10] [2 10] [3 10] [4 10] [5 10]]"; fmt.Sprint(got) != want {
		t.Errorf("tensors of the live run by step: %v, want %s", got, want)
	}
}
