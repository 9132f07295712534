package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestRunRecordsAProgramAsItIs launches what users launch, and asks afterwards, when no system runs any more.
func TestRunRecordsAProgramAsItIs(t *testing.T) {
	t.Parallel()
	python := torchPython(t)
	s := setting{data: t.TempDir(), env: []string{"TENSORTAP_SPOOL=" + t.TempDir(), "XDG_CACHE_HOME=" + t.TempDir(), "OMP_NUM_THREADS=1"}}
	wrong := s
	wrong.env = append([]string{"WRONG=1"}, s.env...)
	job := []string{"--", filepath.Join(filepath.Dir(python), "torchrun"), "--nproc-per-node", "2", "testdata/plain_ddp.py"}
	for name, at := range map[string]setting{"good": s, "bad": wrong} {
		out := process(t, at, append([]string{"run", "--run", name}, job...)...)
		if out.status != 1 || !strings.Contains(out.stderr, "that are recorded: 2") || !strings.Contains(out.stderr, "exitcode  : 5") {
			t.Fatalf("run %s: %v", name, out)
		}
	}
	out := process(t, s, "run", "--run", "tokens", "--level", "mix", "--", python, "testdata/plain_generate.py")
	if out.status != 0 || !strings.HasPrefix(out.stdout, "[[0, 1, 2, 3, 4, ") || !strings.Contains(out.stderr, "that are recorded: 1") {
		t.Fatalf("generate: %v", out)
	}
	for _, c := range []struct {
		args   []string
		status int
		wants  []string
	}{
		{[]string{"compare", "bad", "good"}, 1, []string{"began at     step 0, rank 1, op Module.module.2.Linear.forward.0", "parameter weight", "plain_ddp.py"}},
		{[]string{"compare", "good", "good"}, 0, []string{"SAME"}},
		{[]string{"runs", "--output", "csv"}, 0, []string{"tokens,ended", "LlamaForCausalLM"}},
		{[]string{"query", "SELECT max(step), countIf(op LIKE 'Functional.linear.%') > 0 FROM tap.tensors WHERE run = 'tokens'", "--output", "csv"}, 0, []string{"\n3,1"}},
		{[]string{"run", "--run", "good", "--", "true"}, 2, []string{"run good is recorded already", "--resume"}},
		{[]string{"run", "--run", "none", "--", "sh", "-c", "exit 7"}, 7, []string{"nothing was recorded"}},
		{[]string{"run", "--run", "none", "--", "no such program"}, 127, []string{"start no such program"}},
		{[]string{"run", "--run", "none", "--", "sh", "-c", "kill -9 $$"}, 137, nil},
	} {
		out := process(t, s, c.args...)
		if out.status != c.status {
			t.Errorf("%q: status %d, want %d: %v", c.args, out.status, c.status, out)
		}
		for _, want := range c.wants {
			if !strings.Contains(out.stdout+out.stderr, want) {
				t.Errorf("%q lacks %q: %v", c.args, want, out)
			}
		}
	}
}
