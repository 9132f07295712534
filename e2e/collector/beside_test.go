package collector

import (
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/e2e/internal/torch"
)

// TestWhatAProgramDoesBesideItsModelIsKnown launches a program with other settings, which ends by an exception of its own code.
func TestWhatAProgramDoesBesideItsModelIsKnown(t *testing.T) {
	t.Parallel()
	python := torch.Python(t)
	s := program.Launching(t, "RATE=0.1", "THREADS=1")
	other := s
	other.Env = append(append([]string{}, s.Env...), "RATE=0.2", "THREADS=2")
	for run, at := range map[string]program.Setting{"slow": s, "fast": other} {
		if out := program.Run(t, at, "run", "--run", run, "--", python, "testdata/ends_badly.py"); out.Status != 1 {
			t.Fatalf("%s: %v", run, out)
		}
	}
	for _, c := range []struct {
		args  []string
		wants []string
	}{
		{[]string{"report", "run-differences", "--problem", "fast", "--bench", "slow", "--output", "csv"}, []string{"config optimizer lr,0.2,0.1,changes numbers\n", "config torch threads,2,1,changes numbers\n"}},
		{[]string{"report", "failures", "--run", "fast", "--output", "csv"}, []string{"FileNotFoundError", "shard 7 of the data", "in next_batch"}},
		{[]string{"report", "optimizers", "--run", "fast", "--setting", "lr", "--output", "csv"}, []string{"0,SGD,0,0,lr,1,0.2\n"}},
		{[]string{"compare", "fast", "slow"}, []string{
			"began at     step 1, rank 0, op Optimizer.SGD.settings.0\n", "kwarg 0.lr: ", "in training_step", "observed     level L0 sees modules and the loss; functional ops",
		}},
	} {
		out := program.Run(t, s, c.args...)
		for _, want := range c.wants {
			if !strings.Contains(out.Stdout, want) {
				t.Errorf("%q lacks %q: %v", c.args, want, out)
			}
		}
	}
}
