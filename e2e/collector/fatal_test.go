package collector

import (
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/e2e/internal/torch"
)

// TestWhatFaulthandlerWritesIsTheEndOfTheRank lets a program die by a signal that faulthandler is told of.
func TestWhatFaulthandlerWritesIsTheEndOfTheRank(t *testing.T) {
	t.Parallel()
	python := torch.Python(t)
	s := program.Setting{Data: t.TempDir(), Env: []string{"TENSORTAP_SPOOL=" + t.TempDir(), "OMP_NUM_THREADS=1", "PYTHONFAULTHANDLER=1"}}
	out := program.Run(t, s, "run", "--run", "fatal", "--", python, "testdata/segfault.py")
	for _, want := range []string{
		"run: crash: run fatal: rank 0 was the first to go: it died of a fatal error in step 1, op Module.1.Reads.forward.0 of module 1",
		"error        Fatal Python error: Segmentation fault\n", "in read_nothing\n",
	} {
		if !strings.Contains(out.Stderr, want) {
			t.Errorf("run lacks %q: %v", want, out)
		}
	}
	out = program.Run(t, s, "query", "SELECT rank, kind, countSubstrings(exception, 'read_nothing') FROM tap.logs WHERE run = 'fatal' AND exception != ''", "--output", "csv")
	if want := "0,traceback,1\n"; !strings.HasSuffix(out.Stdout, want) {
		t.Errorf("rows with a stack: got %q, want %q", out.Stdout, want)
	}
}
