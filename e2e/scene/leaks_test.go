package scene

import (
	"slices"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/e2e/internal/torch"
)

// TestALeakIsNamedByRankModuleAndComponent trains on four ranks, of which one keeps a MiB a step in one module and another
// one in the state of its optimizer, and again without.
func TestALeakIsNamedByRankModuleAndComponent(t *testing.T) {
	t.Parallel()
	python := torch.Python(t)
	s := launching(t, "TENSORTAP_MEMORY=1", "STEPS=120")
	leaking := s
	leaking.Env = append([]string{"LEAK=1"}, s.Env...)
	job := []string{"--level", "L0", "--", python, "testdata/leaks.py"}
	for run, at := range map[string]program.Setting{"leaks": leaking, "stable": s} {
		out := program.Run(t, at, append([]string{"run", "--run", run}, job...)...)
		if out.Status != 0 {
			t.Fatalf("run %s: %v", run, out)
		}
		rank1, rank2 := "run: memory: run leaks: rank 1: host resident memory of cpu grows by ", "run: memory: run leaks: rank 2: host resident memory of cpu grows by "
		for _, line := range []string{rank1, rank2, "in component other, after Module.layers.1.cache", "in component optimizer", "report memory-growth --run leaks"} {
			if strings.Contains(out.Stderr, line) != (run == "leaks") {
				t.Errorf("run %s says at its end whose memory grows, %q: %v", run, line, out)
			}
		}
	}
	out := program.Run(t, s, "report", "memory-growth", "--run", "leaks", "--output", "csv", "--columns", "rank,component,counter,differs,op")
	lines := strings.Split(strings.TrimSpace(out.Stdout), "\n")[1:]
	slices.Sort(lines)
	want := []string{"1,all,host resident,1,Module.layers.1.cache.Cache.forward.0", "1,other,allocated,1,", "2,all,host resident,1,", "2,optimizer,allocated,1,"}
	if !slices.EqualFunc(lines, want, strings.HasPrefix) {
		t.Errorf("the growth of rank 1, in the module that keeps, and of the optimizer of rank 2, and no other: %v", out)
	}
	if out := program.Run(t, s, "report", "memory-growth", "--run", "stable", "--output", "csv"); strings.Count(strings.TrimSpace(out.Stdout), "\n") != 0 {
		t.Errorf("a run that keeps nothing: %v", out)
	}
	out = program.Run(t, s, "report", "memory-diff", "--problem", "leaks", "--bench", "stable", "--output", "csv", "--limit", "0")
	leaks := []string{"1,cpu,all", "1,cpu,other", "2,cpu,all", "2,cpu,optimizer"}
	for line := range strings.Lines(out.Stdout) {
		fields := strings.Split(strings.TrimSpace(line), ",")
		if parts := fields[len(fields)-1] != ""; fields[0] != "rank" && slices.Contains(leaks, strings.Join(fields[:3], ",")) != parts {
			t.Errorf("ranks 1 and 2 part from the other run by what they keep, and nothing else: %s", line)
		}
	}
}
