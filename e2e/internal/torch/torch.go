// Package torch runs Python with PyTorch and the collector, for tests.
package torch

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/testbed"
)

// Python is an interpreter with torch.
func Python(tb testing.TB) string {
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

// Training is the collector's example, with its spools below the root and its ranks in a group of processes.
func Training(tb testing.TB, root string, args ...string) *exec.Cmd {
	tb.Helper()
	return Collecting(tb, root, append([]string{filepath.Join("examples", "train_ddp.py")}, args...)...)
}

// Collecting is Python in the collector's folder.
func Collecting(tb testing.TB, root string, args ...string) *exec.Cmd {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), Python(tb), args...) //nolint:gosec // named by who runs the test
	cmd.Dir = filepath.Join("..", "..", "producers", "torch")
	cmd.Env = append(os.Environ(), "PYTHONPATH=src", "TENSORTAP_SPOOL="+root, "OMP_NUM_THREADS=1", "PYTHONDONTWRITEBYTECODE=")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd
}

// Train runs the example to its end and returns the last line that it printed.
func Train(tb testing.TB, root string, args ...string) string {
	tb.Helper()
	out, err := Training(tb, root, args...).CombinedOutput()
	if err != nil {
		tb.Fatalf("train %q: %v\n%s", args, err, out)
	}
	return program.LastLine(string(out))
}
