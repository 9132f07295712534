package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tensortap/tensortap/internal/testbed"
)

// torchPython is an interpreter with torch.
func torchPython(tb testing.TB) string {
	tb.Helper()
	python := os.Getenv("TENSORTAP_TORCH")
	if python == "" {
		var err error
		if python, err = filepath.Abs("../../.tools/torch/bin/python"); err != nil {
			tb.Fatal(err)
		}
	}
	if _, err := os.Stat(python); err != nil {
		testbed.Needed(tb, "no Python with torch: make venv-torch, or set TENSORTAP_TORCH")
	}
	return python
}

// training is the collector's example, with its spools below the root and its ranks in a group of processes.
func training(tb testing.TB, root string, args ...string) *exec.Cmd {
	tb.Helper()
	return collecting(tb, root, append([]string{filepath.Join("examples", "train_ddp.py")}, args...)...)
}

// collecting is Python in the collector's folder.
func collecting(tb testing.TB, root string, args ...string) *exec.Cmd {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), torchPython(tb), args...) //nolint:gosec // named by who runs the test
	cmd.Dir = filepath.Join("..", "..", "producers", "torch")
	cmd.Env = append(os.Environ(), "PYTHONPATH=.", "TENSORTAP_SPOOL="+root, "OMP_NUM_THREADS=1", "PYTHONDONTWRITEBYTECODE=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd
}

// train runs the example to its end and returns the last line that it printed.
func train(tb testing.TB, root string, args ...string) string {
	tb.Helper()
	out, err := training(tb, root, args...).CombinedOutput()
	if err != nil {
		tb.Fatalf("train %q: %v\n%s", args, err, out)
	}
	return lastLine(string(out))
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// TestFaultsOfALiveRunAreFound trains a model on several ranks, as users do, and asks what users ask.
func TestFaultsOfALiveRunAreFound(t *testing.T) {
	t.Parallel()
	torchPython(t)
	u := startUp(t, t.TempDir())
	root := filepath.Join(u.data, "spool")
	whole := []string{"--ranks", "4", "--steps", "33", "--fault-step", "30"}
	good := train(t, root, append(whole, "--run", "good")...)
	if again := train(t, root, append(whole, "--run", "good again")...); again != good || !strings.Contains(good, "last loss") {
		t.Errorf("the same run again: %s, %s", good, again)
	}
	requireSeenLive(t, u, training(t, root, append(whole, "--run", "weight", "--fault", "weight", "--fault-rank", "2")...))
	requireSketchesHold(t, u, root)
	short := []string{"--ranks", "2", "--steps", "8", "--fault-step", "5"}
	train(t, root, append(short, "--run", "nan", "--fault", "nan", "--fault-rank", "1")...)
	if out, err := training(t, root, append(short, "--run", "raise", "--fault", "raise")...).CombinedOutput(); err == nil {
		t.Errorf("a model that raises ends well: %s", out)
	}
	train(t, root, "--ranks", "2", "--steps", "40", "--run", "leak", "--fault", "leak")
	killed := training(t, root, "--ranks", "2", "--steps", "1000000", "--run", "killed")
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	err := await(2*time.Minute, "ten steps of the run to be killed", func() bool {
		steps := u.query(t, "SELECT countIf(step >= 10) FROM tap_store.step WHERE run_id IN (SELECT run_id FROM tap_store.run WHERE name = 'killed')")
		return steps[0][0] != "0"
	})
	if err != nil {
		t.Error(err)
	}
	_ = syscall.Kill(-killed.Process.Pid, syscall.SIGKILL)
	_ = killed.Wait()
	served(t, root)
	u.settle(t)

	for _, c := range []struct {
		args   []string
		status int
		wants  []string
	}{
		{[]string{"compare", "good again", "good"}, 0, nil},
		{[]string{"compare", "weight", "good"}, 1, []string{"began at     step 30, rank 2", "layers.2.mix"}},
		{[]string{"overflow", "nan"}, 1, []string{"step 5, rank 1", "Module.module.layers.2.Block.forward.0", "output 0.seen.scores.1"}},
		{[]string{"report", "failures", "--run", "raise"}, 0, []string{"layers.2", "RuntimeError", "a fault on request"}},
		{[]string{"report", "memory", "--run", "leak"}, 0, []string{"grows"}},
		{[]string{"report", "completeness", "--run", "weight"}, 0, nil},
		{[]string{"report", "ranks", "--run", "good"}, 0, []string{"ended"}},
		{[]string{"report", "ranks", "--run", "killed"}, 0, []string{"died", "Module.module."}},
	} {
		out := inside(t, u.setting, c.args...)
		t.Logf("tensortap %s\n%s%s", strings.Join(c.args, " "), out.stdout, out.stderr)
		if out.status != c.status || strings.Contains(out.stdout, "INCOMPLETE") {
			t.Errorf("%q: status %d, want %d", c.args, out.status, c.status)
		}
		for _, want := range c.wants {
			if !strings.Contains(out.stdout, want) {
				t.Errorf("%q lacks %q", c.args, want)
			}
		}
	}
}

// soon is many times what a machine with nothing else to do needs: tests share theirs.
const soon = 15 * time.Second

// requireSeenLive watches a run while it trains, whose weight is scaled behind autograd's back on one rank: the watch names
// the module, the rank and the step, and soon.
func requireSeenLive(t *testing.T, u *upProcess, trained *exec.Cmd) {
	t.Helper()
	w := startWatch(t, u, "weight", "good", "--until-diverged", "--idle", "5m")
	if err := trained.Start(); err != nil {
		t.Fatal(err)
	}
	e := w.next(t, "divergence")
	seen := time.Now()
	if err := trained.Wait(); err != nil {
		t.Error(err)
	}
	if *e.Step != 30 || *e.Rank != 2 || e.Module != "module.layers.2.mix" {
		t.Errorf("divergence: %+v", e)
	}
	u.settle(t)
	rows := u.query(t, "SELECT any(end_time_ns) FROM tap.steps WHERE run_id = xxh3('weight' || char(31)) AND step = 30 AND rank = 2")
	late := seen.Sub(time.Unix(0, int64(number(t, rows[0][0]))))
	t.Logf("the watch named %s of step %d on rank %d %v after the step had ended", e.Op, *e.Step, *e.Rank, late)
	if late > soon {
		t.Errorf("that is later than %v", soon)
	}
}

// requireSketchesHold compares two runs whose tensors of many shapes differ by known errors: the interval that 95 % of estimates
// from sketches should lie in holds at least 93 % of them.
func requireSketchesHold(t *testing.T, u *upProcess, root string) {
	t.Helper()
	shapes := collecting(t, root, "-m", "tests.shapes", "shapes good", "shapes bad")
	said, err := shapes.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	var errors map[string]float64
	if err := json.Unmarshal([]byte(lastLine(string(said))), &errors); err != nil {
		t.Fatal(err)
	}
	served(t, root)
	u.settle(t)
	out := inside(t, u.setting, "compare", "shapes bad", "shapes good", "--output", "json", "--limit", "1000", "--tolerance", "1e-9")
	var compared struct {
		Divergence []struct {
			Op, Role, Evidence string
			Error              float64
		}
	}
	if err := json.Unmarshal([]byte(out.stdout), &compared); err != nil {
		t.Fatalf("%v: %v", err, out)
	}
	const least, most = 0.657, 1.343 // the square of the ratio is chi-square of 16 degrees over 16, 95 % of which lie so
	held, seen := 0, 0
	for _, d := range compared.Divergence {
		if ratio := d.Error / errors[d.Op]; d.Role == "output" && d.Evidence == "sketch" {
			seen++
			if least <= ratio && ratio <= most {
				held++
			}
		}
	}
	t.Logf("of %d errors estimated from sketches %d are within their interval of 95 %%", seen, held)
	if seen != len(errors) || held*100 < 93*seen {
		t.Errorf("want all of %d, and 93 %% of them", len(errors))
	}
}
