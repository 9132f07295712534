package scene

import (
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/e2e/internal/torch"
)

// TestALeakIsNamedByRankAndModule trains on four ranks, of which one keeps a MiB a step in one module, and again without.
func TestALeakIsNamedByRankAndModule(t *testing.T) {
	t.Parallel()
	python := torch.Python(t)
	s := program.Setting{Data: t.TempDir(), Env: []string{
		"TENSORTAP_SPOOL=" + t.TempDir(), "XDG_CACHE_HOME=" + t.TempDir(), "OMP_NUM_THREADS=1", "TENSORTAP_MEMORY=1", "STEPS=120",
	}}
	leaking := s
	leaking.Env = append([]string{"LEAK=1"}, s.Env...)
	job := []string{"--level", "L0", "--", python, "testdata/leaks.py"}
	for run, at := range map[string]program.Setting{"leaks": leaking, "stable": s} {
		out := program.Run(t, at, append([]string{"run", "--run", run}, job...)...)
		if out.Status != 0 {
			t.Fatalf("run %s: %v", run, out)
		}
		line, more := "run: memory: run leaks: rank 1: host resident memory of cpu grows by ", "report memory-growth --run leaks"
		if leaks := run == "leaks"; strings.Contains(out.Stderr, line) != leaks || strings.Contains(out.Stderr, more) != leaks || strings.Contains(out.Stderr, "memory:") != leaks {
			t.Errorf("run %s says at its end whose memory grows: %v", run, out)
		}
	}
	out := program.Run(t, s, "report", "memory-growth", "--run", "leaks", "--output", "csv")
	lines := strings.Split(strings.TrimSpace(out.Stdout), "\n")
	if len(lines) != 2 || !strings.HasPrefix(lines[1], "1,cpu,host resident,1") || !strings.Contains(lines[1], "Module.layers.1.cache.Cache.forward.0") {
		t.Errorf("the growth of rank 1, in the module that keeps, and no other: %v", out)
	}
	if out := program.Run(t, s, "report", "memory-growth", "--run", "stable", "--output", "csv"); strings.Count(strings.TrimSpace(out.Stdout), "\n") != 0 {
		t.Errorf("a run that keeps nothing: %v", out)
	}
	out = program.Run(t, s, "report", "memory-diff", "--problem", "leaks", "--bench", "stable", "--output", "csv", "--limit", "0")
	for line := range strings.Lines(out.Stdout) {
		fields := strings.Split(strings.TrimSpace(line), ",")
		if leaks, parts := fields[0] == "1", fields[len(fields)-1] != ""; fields[0] != "rank" && leaks != parts {
			t.Errorf("rank 1 parts from the other run, and no other rank: %s", line)
		}
	}
}
