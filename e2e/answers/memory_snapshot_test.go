package answers

import (
	"os"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
)

const snapshots = "../../producers/memorysnapshot/testdata/"

// TestWhatAnAllocatorKeepsIsNamedByItsCallStack publishes snapshots of two ranks, of which one keeps a MiB more a step, and the
// constructed one that is shared by all peers.
func TestWhatAnAllocatorKeepsIsNamedByItsCallStack(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	publish := []string{"publish", "memory-snapshot", snapshots + "leak", "--run", "snapshots"}
	for _, want := range []string{"of 8 steps of ranks", "8 of 8 steps of ranks were published before"} {
		if out := program.Run(t, u.Setting, publish...); out.Status != program.ExitSame || out.Stderr != "" || !strings.Contains(out.Stdout, want) {
			t.Errorf("%q lacks %q: %v", publish, want, out)
		}
	}
	one := program.Run(t, u.Setting, "publish", "memory-snapshot", snapshots+"torch_memory_snapshot.pickle", "--run", "one snapshot")
	if one.Status != 2 || !strings.Contains(one.Stderr, "the trace does not fit the segments") {
		t.Errorf("a trace that frees what is in use at the end: %v", one)
	}
	u.Settle(t)
	out := program.Run(t, u.Setting, "report", "memory-growth", "--run", "snapshots", "--output", "csv")
	if lines := strings.Split(strings.TrimSpace(out.Stdout), "\n"); len(lines) != 2 || !strings.HasPrefix(lines[1], "1,cuda:0,all,allocated,1.048576e+06,") ||
		!strings.Contains(lines[1], "File /home/user/model.py, line 42, in keep") {
		t.Errorf("the growth of rank 1 alone, by its stack: %v", out)
	}
	text, err := os.ReadFile("../../docs/memory.md")
	if err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(string(text), "$ tensortap ")
	shown, _, _ = strings.Cut(shown, "```")
	command, want, _ := strings.Cut(shown, "\n")
	if out := program.Run(t, u.Setting, strings.Fields(command)...); out.Stdout != want {
		t.Errorf("docs/memory.md shows of %s\n%s\nit prints\n%s", command, want, out.Stdout)
	}
	out = program.Run(t, u.Setting, "report", "memory-diff-stacks", "--problem", "snapshots", "--bench", "snapshots", "--bench-step", "50", "--output", "csv")
	if lines := strings.Split(out.Stdout, "\n"); len(lines) < 2 || !strings.HasPrefix(lines[1], `1,cuda:0,209715200,104857600,104857600,2,other,"File /home/user/model.py, line 42, in keep"`) {
		t.Errorf("what rank 1 holds more at step 150 than at 50: %v", out)
	}
	out = program.Run(t, u.Setting, "query", memoryOfOne, "--output", "csv")
	if want := "cuda:0,1024,2097152,2048,1,1048576,activations,1000"; !strings.Contains(out.Stdout, want) {
		t.Errorf("the facts of the constructed snapshot, %s: %v", want, out)
	}
}

const memoryOfOne = `SELECT m.device, m.allocated_bytes, m.reserved_bytes, m.peak_bytes, m.oom_count, m.device_free_bytes, a.component, a.requested_bytes
FROM tap.memories AS m INNER JOIN tap.allocations AS a ON a.run_id = m.run_id
WHERE m.run = 'one snapshot' AND m.peak_bytes IS NOT NULL AND a.moment = 'end' AND a.state = 'active'`
