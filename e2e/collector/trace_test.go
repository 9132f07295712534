package collector

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/e2e/internal/torch"
	"github.com/tensortap/tensortap/internal/speedscope"
)

// TestATraceNamesWhatTheSlowRankDoes traces two live ranks, one of which prepares its batches slowly.
func TestATraceNamesWhatTheSlowRankDoes(t *testing.T) {
	t.Parallel()
	torch.Python(t)
	u := program.Shared(t)
	script, err := filepath.Abs("testdata/slow_rank.py")
	if err != nil {
		t.Fatal(err)
	}
	r := startProgram(t, u, "slow", torch.Collecting(t, filepath.Join(u.Data, "spool"), script, "slow"))

	stacks := filepath.Join(t.TempDir(), "trace.speedscope.json")
	r.require(0, []string{"rank 1: MainThread", "prepares_slowly", "wrote " + stacks}, "trace", "--rank", "1", "--seconds", "1.5", "--sampler", "own", "-o", stacks)
	requireStacks(t, stacks, []string{"rank 1: MainThread"}, []string{"rank 0"})
	folded := filepath.Join(t.TempDir(), "all.folded")
	r.require(0, []string{"wrote " + folded}, "trace", "--seconds", "1", "--sampler", "own", "--format", "folded", "-o", folded)
	requireFolded(t, folded)
	requireProfile(t, r)
	requireShown(t, r)
	requireSpies(t, r)
	r.require(2, []string{"it has no rank 7; its ranks are [0 1]"}, "trace", "--rank", "7", "--sampler", "own")
	requireInterrupted(t, r)
	requireGone(t, r)
	r.require(2, []string{"no process of it lives: all of its 2 ranks have ended or died"}, "trace", "--sampler", "own")
}

// requireStacks fails the test unless the file is one of speedscope with these profiles, and none of the others.
func requireStacks(t *testing.T, path string, wants, others []string) {
	t.Helper()
	text, err := os.ReadFile(path) //nolint:gosec // of the test
	if err != nil {
		t.Error(err)
		return
	}
	file, err := speedscope.Parse(text)
	if err != nil {
		t.Error(err)
		return
	}
	var names []string
	for i := range file.Profiles {
		names = append(names, file.Profiles[i].Name)
	}
	all := strings.Join(names, "|")
	for _, want := range wants {
		if !strings.Contains(all, want) {
			t.Errorf("%s has profiles %s, want %s", path, all, want)
		}
	}
	for _, other := range others {
		if strings.Contains(all, other) {
			t.Errorf("%s has profiles %s", path, all)
		}
	}
}

// requireFolded fails the test unless both ranks are in the lines, and the slow function with rank 1 alone.
func requireFolded(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path) //nolint:gosec // of the test
	if err != nil {
		t.Fatal(err)
	}
	slow := map[string]int{}
	for line := range strings.Lines(string(text)) {
		rank, rest, _ := strings.Cut(line, ";")
		slow[rank] += strings.Count(rest, "prepares_slowly (")
	}
	if slow["rank 1: MainThread"] == 0 || !strings.Contains(string(text), "rank 0: MainThread;") {
		t.Errorf("%v in %s", slow, text)
	}
}

// requireProfile has rank 1 run torch.profiler for two steps. Its file is kept with the run, and found by a query.
func requireProfile(t *testing.T, r *livingRun) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "profile.json")
	r.require(0, []string{"rank 1, process ", " 2 steps from step ", filepath.Join(r.Data, "traces")}, "trace", "--rank", "1", "--profiler", "--steps", "2", "-o", path)
	text, err := os.ReadFile(path) //nolint:gosec // of the test
	if err != nil {
		t.Fatal(err)
	}
	var profile struct {
		Events []struct {
			Name string `json:"name"`
		} `json:"traceEvents"`
	}
	if err := json.Unmarshal(text, &profile); err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, event := range profile.Events {
		count[event.Name]++
	}
	if count["aten::linear"] != 4 || count["AddmmBackward0"] != 4 {
		t.Errorf("ops in the profile: %v", count)
	}
	var kept [][]string
	err = program.Await(time.Minute, "the row of the profile", func() bool {
		r.Settle(t)
		kept = r.Query(t, "SELECT rank, fields['path'], fields['steps'] FROM tap.logs WHERE run = 'slow' AND kind = 'profile'")
		return len(kept) == 1
	})
	if err != nil || kept[0][0] != "1" || kept[0][2] != "2" {
		t.Fatalf("%v, %v", kept, err)
	}
	if _, err := os.Stat(kept[0][1]); err != nil {
		t.Error(err)
	}
}

// requireShown runs the commands of docs/traces.md.
func requireShown(t *testing.T, r *livingRun) {
	t.Helper()
	s := r.Setting
	s.Dir = t.TempDir()
	for _, command := range shownCommands(t, "traces.md", "# Traces on request\n") {
		out := requireSaid(t, s, strings.NewReplacer("--run bad", "--run slow", "'bad'", "'slow'").Replace(command))
		if strings.Count(out.Stdout, "\n") == 0 {
			t.Errorf("docs/traces.md shows tensortap %s: %v", command, out)
		}
	}
	requireStacks(t, filepath.Join(s.Dir, "trace.speedscope.json"), []string{"rank 1: "}, nil)
}

// requireSpies has the command find no py-spy, one that is not let, and the real one where it is installed.
func requireSpies(t *testing.T, r *livingRun) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "spied.json")
	trace := func(env string, status int, wants []string, args ...string) {
		t.Helper()
		s := r.Setting
		if env != "" {
			s.Env = append(append([]string{}, s.Env...), env)
		}
		out := program.Run(t, s, append([]string{"trace", "--run", r.name, "--seconds", "1", "-o", path}, args...)...)
		for _, want := range wants {
			if out.Status != status || !strings.Contains(out.Stdout+out.Stderr, want) {
				t.Errorf("trace %q with %s: want status %d and %q: %v", args, env, status, want, out)
			}
		}
	}
	trace("PATH="+t.TempDir(), 2, []string{"py-spy is not installed: pip install py-spy; without --sampler py-spy each rank samples itself"}, "--sampler", "py-spy")
	trace("PATH="+t.TempDir(), 0, []string{"py-spy is not installed", "so each rank samples itself", "prepares_slowly"}, "--rank", "1")
	refused := t.TempDir()
	if err := os.WriteFile(filepath.Join(refused, "py-spy"), []byte("#!/bin/sh\necho 'Permission Denied: Try running again with elevated permissions' >&2\nexit 1\n"), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	trace("PATH="+refused, 2, []string{"ptrace is forbidden: run as root"}, "--sampler", "py-spy")
	trace("PATH="+refused, 0, []string{"ptrace is forbidden: run as root", "so each rank samples itself", "prepares_slowly"}, "--rank", "1")
	if _, err := speedscope.FindSpy(); err == nil {
		trace("", 0, []string{"rank 1: ", "prepares_slowly"}, "--sampler", "py-spy", "--rank", "1")
		requireStacks(t, path, []string{"rank 1: "}, []string{"rank 0"})
	}
}

// requireInterrupted kills a rank while it is traced.
func requireInterrupted(t *testing.T, r *livingRun) {
	t.Helper()
	cmd := program.Command(t, r.Setting, "trace", "--run", r.name, "--rank", "1", "--seconds", "600", "--sampler", "own", "-o", filepath.Join(t.TempDir(), "none.json"))
	said := make(chan string, 1)
	go func() {
		text, _ := cmd.CombinedOutput()
		said <- string(text)
	}()
	err := program.Await(time.Minute, "the trace to have begun", func() bool {
		out := r.ask("poke", "--output", "json", "--rank", "1")
		return strings.Contains(out.Stdout, "thread tensortap sampler")
	})
	if err != nil {
		t.Error(err)
	}
	for _, pid := range r.pids {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	if text := <-said; !strings.Contains(text, "was interrupted: it ended, or was stopped, before its stacks were on file") || !strings.Contains(text, "no rank of run slow was traced") {
		t.Error(text)
	}
}
