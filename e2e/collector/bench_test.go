package collector

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/e2e/internal/torch"
)

// TestRunIsHeldAgainstABench launches programs that are as the bench or not, and end as they like.
func TestRunIsHeldAgainstABench(t *testing.T) {
	t.Parallel()
	python := torch.Python(t)
	s := program.Shared(t).Setting
	wrong := s
	wrong.Env = append([]string{"WRONG=1"}, s.Env...)
	training := python + " testdata/plain_gan.py; exit "
	mark := filepath.Join(t.TempDir(), "started")
	for _, c := range []struct {
		at     program.Setting
		args   []string
		status int
		says   string // on standard error
	}{
		{s, []string{"--run", "held good", "--", "sh", "-c", training + "0"}, 0, "compare 'held good' BENCH"},
		{wrong, []string{"--run", "held bad", "--bench", "held good", "--", "sh", "-c", training + "0"}, 0, "op Module.Generator.2.Linear.forward.0\n"},
		{wrong, []string{"--run", "held worse", "--bench", "held good", "--tolerance", "1e-3", "--", "sh", "-c", training + "5"}, 5, "DIFFERS      problem held worse against bench held good"},
		{s, []string{"--run", "held same", "--bench", "held good", "--", "sh", "-c", training + "7"}, 7, "SAME         problem held same against bench held good"},
		{s, []string{"--run", "none", "--bench", "held good", "--", "sh", "-c", "exit 3"}, 3, "nothing was recorded"},
		{s, []string{"--run", "none", "--bench", "held gooood", "--", "touch", mark}, 2, `no run is named "held gooood"; the nearest: "held good"`},
		{s, []string{"--run", "none", "--bench", "held good", "--tolerance", "none", "--", "touch", mark}, 2, "neither a number nor a file"},
		{s, []string{"--run", "none", "--strict", "--", "touch", mark}, 2, "--strict goes with --bench"},
	} {
		out := program.Run(t, c.at, append([]string{"run"}, c.args...)...)
		if out.Status != c.status || !strings.Contains(out.Stderr, c.says) {
			t.Errorf("run %q: %v, want status %d and %q", c.args, out, c.status, c.says)
		}
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("a program was started that cannot be held against its bench")
	}
}
