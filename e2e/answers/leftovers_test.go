package answers

import (
	"bytes"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
)

func TestProcessesOfASystemAreFound(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	if found := program.ProcessesOf(t, u.Data); len(found) < 2 {
		t.Errorf("a running system has the processes %v, want itself and its engine", found)
	}
}

func TestComparisonsThatAreStoppedLeaveNothing(t *testing.T) {
	t.Parallel()
	problem, bench := recorded.Unpack(t, "B02_weight_mix"), recorded.Unpack(t, "B00_golden_mix")
	for _, c := range []struct {
		signal syscall.Signal
		after  time.Duration
	}{
		{syscall.SIGINT, 20 * time.Millisecond},
		{syscall.SIGINT, 150 * time.Millisecond},
		{syscall.SIGTERM, 400 * time.Millisecond},
		{syscall.SIGINT, 600 * time.Millisecond},
	} {
		t.Run(fmt.Sprintf("%v after %v", c.signal, c.after), func(t *testing.T) {
			t.Parallel()
			stopComparison(t, c.signal, c.after, problem, bench)
		})
	}
}

// stopComparison checks that a comparison that was stopped says so: it did not find that the runs are the same.
func stopComparison(t *testing.T, signal syscall.Signal, after time.Duration, problem, bench string) {
	t.Helper()
	s := program.Setting{Env: []string{"TMPDIR=" + t.TempDir()}}
	cmd := program.Command(t, s, "compare", problem, bench)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(after)
	_ = cmd.Process.Signal(signal)
	begin := time.Now()
	_ = cmd.Wait()
	out := program.Outcome{Status: cmd.ProcessState.ExitCode(), Stdout: stdout.String(), Stderr: stderr.String()}
	if took := time.Since(begin); took > 2*time.Minute { // a loaded machine takes seconds
		t.Errorf("ended %v after the signal", took)
	}
	switch out.Status {
	case -1: // before the program could take signals
	case 1:
		if !strings.HasPrefix(out.Stdout, "DIFFERS ") {
			t.Error(out)
		}
	case 2:
		if !strings.HasPrefix(out.Stderr, "tensortap: stopped: ") || strings.Count(out.Stderr, "\n") != 1 {
			t.Error(out)
		}
	default:
		t.Errorf("%v, want status 2: nothing was compared", out)
	}
	program.LeavesNothing(t, s)
}
