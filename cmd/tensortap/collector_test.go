package main

import (
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
	collector, err := filepath.Abs("../../producers/torch")
	if err != nil {
		tb.Fatal(err)
	}
	python := torchPython(tb)
	cmd := exec.CommandContext(tb.Context(), python, append([]string{filepath.Join(collector, "examples", "train_ddp.py")}, args...)...)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+collector, "TENSORTAP_SPOOL="+root, "OMP_NUM_THREADS=1", "PYTHONDONTWRITEBYTECODE=1")
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
	short := []string{"--ranks", "2", "--steps", "8", "--fault-step", "5"}
	good := train(t, root, append(short, "--run", "good")...)
	if again := train(t, root, append(short, "--run", "good again")...); again != good || !strings.Contains(good, "last loss") {
		t.Errorf("the same run again: %s, %s", good, again)
	}
	train(t, root, append(short, "--run", "weight", "--fault", "weight")...)
	train(t, root, append(short, "--run", "nan", "--fault", "nan")...)
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
		{[]string{"compare", "weight", "good"}, 1, []string{"began at     step 5", "layers.2.mix"}},
		{[]string{"overflow", "nan"}, 1, []string{"step 5", "layers.2"}},
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
