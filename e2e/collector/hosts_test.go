package collector

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/e2e/internal/torch"
)

// untilToldToEnd computes steps until there is a file, and prints how many.
const untilToldToEnd = `
import os, sys, time, torch
from torch import nn
model, steps = nn.Sequential(nn.Linear(4, 4)), 0
while not os.path.exists(sys.argv[1]):
    model(torch.ones(1, 4))
    steps += 1
    time.sleep(0.05)
print(steps)
`

// TestALaunchOutlivesTheOneThatHostsItsSystem kills the first of two launches on a folder: the second goes on without, and loses nothing.
func TestALaunchOutlivesTheOneThatHostsItsSystem(t *testing.T) {
	t.Parallel()
	s := program.Setting{Data: t.TempDir()}
	end := filepath.Join(t.TempDir(), "end")
	host := program.NewUp(s.Data, program.Command(t, s, "run", "--run", "host", "--", "sleep", "30"))
	guest := program.NewUp(s.Data, program.Command(t, s, "run", "--run", "guest", "--", torch.Python(t), "-c", untilToldToEnd, end))
	begin := func(u *program.Up, what string, begun func() bool) {
		t.Helper()
		if err := u.Begin(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = u.Kill() })
		if err := program.Await(program.Patience, what, begun); err != nil {
			t.Fatalf("%v\n%s", err, u.Stderr)
		}
	}
	begin(host, "a system", func() bool { _, err := os.Stat(filepath.Join(s.Data, "endpoint.json")); return err == nil })
	begin(guest, "steps in it", func() bool { return program.Run(t, s, "poke", "--run", "guest").Status == 0 })
	if err := host.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(end, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	<-guest.Ended
	if status := guest.Cmd.ProcessState.ExitCode(); status != 0 {
		t.Fatalf("status %d: %s", status, guest.Stderr)
	}
	steps := program.LastLine(guest.Stdout.String())
	stored := program.Run(t, s, "query", "--output", "csv", "SELECT uniqExact(step) FROM tap.tensors WHERE run = 'guest'")
	if program.LastLine(stored.Stdout) != steps || !strings.Contains(guest.Stderr.String(), "--run host") {
		t.Errorf("of %s steps are stored: %v\n%s", steps, stored, guest.Stderr)
	}
}
