package collector

import (
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/e2e/internal/torch"
)

// TestAParameterThatDiffersAtLoadIsNamed launches a program twice, of which one begins with another weight.
func TestAParameterThatDiffersAtLoadIsNamed(t *testing.T) {
	t.Parallel()
	python := torch.Python(t)
	s := program.Launching(t, "OTHER=0")
	other := s
	other.Env = append(append([]string{}, s.Env...), "OTHER=1")
	for run, at := range map[string]program.Setting{"same": s, "other": other} {
		if out := program.Run(t, at, "run", "--run", run, "--", python, "testdata/other_weight.py"); out.Status != 0 {
			t.Fatalf("%s: %v", run, out)
		}
	}
	out := program.Run(t, s, "report", "run-differences", "--problem", "other", "--bench", "same", "--output", "csv")
	var found []string
	for line := range strings.Lines(out.Stdout) {
		if strings.HasPrefix(line, "parameter ") {
			found = append(found, line)
		}
	}
	if len(found) != 1 || !strings.HasPrefix(found[0], "parameter 2.weight,") || !strings.HasSuffix(found[0], ",changes numbers\n") {
		t.Errorf("parameters that differ: got %q, want only 2.weight: %v", found, out)
	}
}
