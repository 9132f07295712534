package program

import (
	"bufio"
	"encoding/json"
	"io"
	"os/exec"
	"testing"
	"time"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/dev/testbed"
)

// Watching is a running `tensortap watch --output json`.
type Watching struct {
	Cmd    *exec.Cmd
	events chan report.WatchEvent
	Stderr *testbed.Buffer
}

// Watch starts a watch and returns at once.
func Watch(t *testing.T, u *Up, problem, bench string, args ...string) *Watching {
	t.Helper()
	w := &Watching{events: make(chan report.WatchEvent, 1000), Stderr: &testbed.Buffer{}}
	w.Cmd = Command(t, u.Setting, append([]string{"watch", "--problem", problem, "--bench", bench, "--output", "json"}, args...)...)
	stdout, err := w.Cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	w.Cmd.Stderr = w.Stderr
	if err := w.Cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Cmd.Process.Kill() })
	go w.read(stdout)
	return w
}

func (w *Watching) read(from io.Reader) {
	defer close(w.events)
	for lines := bufio.NewScanner(from); lines.Scan(); {
		var fields struct {
			report.WatchEvent
			Error     any `json:"error"` // infinity is a text
			Tolerance any `json:"tolerance"`
		}
		if json.Unmarshal(lines.Bytes(), &fields) == nil {
			w.events <- fields.WatchEvent
		}
	}
}

// Next is the next event of that kind.
func (w *Watching) Next(t *testing.T, kind string) report.WatchEvent {
	t.Helper()
	for deadline := time.After(Patience); ; {
		select {
		case e, open := <-w.events:
			if !open {
				t.Fatalf("watch ended before an event %s: %v\n%s", kind, w.Cmd.Wait(), w.Stderr)
			}
			if e.Event == kind {
				return e
			}
		case <-deadline:
			t.Fatalf("no event %s within %v\n%s", kind, Patience, w.Stderr)
		}
	}
}

// Status waits for the end and returns the exit status.
func (w *Watching) Status(t *testing.T) int {
	t.Helper()
	for range w.events {
	}
	_ = w.Cmd.Wait()
	return w.Cmd.ProcessState.ExitCode()
}
