package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tensortap/tensortap/internal/recorded"
)

// leavesNothing checks that the folder of temporary files is empty and that no process uses it.
func (s setting) leavesNothing(t *testing.T) {
	t.Helper()
	folder := strings.TrimPrefix(s.env[0], "TMPDIR=")
	left, err := os.ReadDir(folder)
	if err != nil || len(left) > 0 {
		t.Errorf("temporary files left: %v, %v", left, err)
	}
	// A child that was told to end may take a moment to be gone.
	for deadline := time.Now().Add(2 * time.Second); len(processesOf(t, folder)) > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("processes left: %v", processesOf(t, folder))
		}
	}
}

// processesOf lists the processes that have the folder in their environment, or something in it open.
func processesOf(tb testing.TB, folder string) []string {
	tb.Helper()
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		tb.Fatal(err)
	}
	var found []string
	for _, process := range processes {
		text, _ := os.ReadFile(filepath.Join(process, "environ"))
		uses := strings.Contains(string(text), folder+"\x00")
		links, _ := filepath.Glob(filepath.Join(process, "fd", "*"))
		for _, link := range append(links, filepath.Join(process, "cwd")) {
			target, _ := os.Readlink(link)
			uses = uses || strings.HasPrefix(target, folder)
		}
		if uses && process != fmt.Sprintf("/proc/%d", os.Getpid()) {
			found = append(found, process)
		}
	}
	return found
}

func TestProcessesOfASystemAreFound(t *testing.T) {
	t.Parallel()
	u := shared(t)
	if found := processesOf(t, u.data); len(found) < 2 {
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
	s := setting{env: []string{"TMPDIR=" + t.TempDir()}}
	cmd := command(t, s, "compare", problem, bench)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(after)
	_ = cmd.Process.Signal(signal)
	begin := time.Now()
	_ = cmd.Wait()
	out := outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("ended %v after the signal", took)
	}
	switch out.status {
	case -1: // before the program could take signals
	case 1:
		if !strings.HasPrefix(out.stdout, "DIFFERS ") {
			t.Error(out)
		}
	case 2:
		if !strings.HasPrefix(out.stderr, "tensortap: stopped: ") || strings.Count(out.stderr, "\n") != 1 {
			t.Error(out)
		}
	default:
		t.Errorf("%v, want status 2: nothing was compared", out)
	}
	s.leavesNothing(t)
}
