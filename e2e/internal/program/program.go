// Package program runs the built program as its users do, for tests: commands, systems that are up, and what they leave.
package program

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/tensortap/tensortap/internal/dev/testbed"
)

// Exit statuses of the program, as of diff.
const (
	ExitSame    = 0
	ExitDiffers = 1
	ExitError   = 2
)

// Outcome is what a command that has ended left.
type Outcome struct {
	Status         int // -1 when a signal ended it
	Stdout, Stderr string
}

// String is for messages of tests.
func (o Outcome) String() string {
	return fmt.Sprintf("status %d\nstdout: %s\nstderr: %s", o.Status, o.Stdout, o.Stderr)
}

// Setting is how a command is run. The zero value runs it in the folder of the test with no folder of data.
type Setting struct {
	Data string   // the folder of data; empty for one that does not exist
	Dir  string   // the working folder
	Env  []string // besides what every command is given
}

// Environment is all that a command sees: nothing of the user's.
func (s Setting) Environment(tb testing.TB) []string {
	tb.Helper()
	data := s.Data
	if data == "" {
		data = filepath.Join(os.TempDir(), "tensortap-no-such-folder")
	}
	return append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(os.TempDir(), "tensortap-no-home"), "TMPDIR=" + os.TempDir(),
		"TENSORTAP_ENGINE=" + testbed.Library(tb), "TENSORTAP_DATA=" + data,
		"TENSORTAP_SPOOL=" + filepath.Join(data, "spool"), "OMP_NUM_THREADS=1",
	}, s.Env...)
}

// Command prepares a process of tensortap that ends with the tests.
func Command(tb testing.TB, s Setting, args ...string) *exec.Cmd {
	tb.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(tb.Context()), Path(tb), args...) //nolint:gosec // built by us
	cmd.Args[0] = "tensortap"                                                          // as from a folder of PATH, so that answers name it so
	cmd.Dir, cmd.Env = s.Dir, s.Environment(tb)
	EndWithTests(cmd)
	return cmd
}

// EndWithTests has the kernel kill the process when the tests end, however they end.
func EndWithTests(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// Run runs tensortap as a process of its own and returns when that has ended.
func Run(tb testing.TB, s Setting, args ...string) Outcome {
	tb.Helper()
	var stdout, stderr bytes.Buffer
	cmd := Command(tb, s, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		tb.Fatalf("start tensortap %q: %v", args, err)
	}
	return Outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}
