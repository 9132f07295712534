package collector

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/e2e/internal/torch"
)

// TestRunRecordsAProgramAsItIs launches what users launch: the first where no system runs, so that each command starts one, the others
// below a system, which costs them less.
func TestRunRecordsAProgramAsItIs(t *testing.T) {
	t.Parallel()
	python := torch.Python(t)
	s := program.Setting{Data: t.TempDir(), Env: []string{"TENSORTAP_SPOOL=" + t.TempDir(), "OMP_NUM_THREADS=1"}}
	wrong := s
	wrong.Env = append([]string{"WRONG=1"}, s.Env...)
	below := program.Launching(t, "OMP_NUM_THREADS=1")
	wrongBelow := below
	wrongBelow.Env = append([]string{"WRONG=1"}, below.Env...)
	listed := below
	listed.Env = append([]string{"VLLM_PLUGINS=lora", "SGLANG_PLUGINS=lora, tensortap"}, below.Env...)
	dump := filepath.Join(t.TempDir(), "dump")
	config := program.TextFile(t, `{"task": "statistics", "dump_path": "`+dump+`", "level": "L0", "step": [1], "statistics": {}}`)
	job := []string{"--", filepath.Join(filepath.Dir(python), "torchrun"), "--nproc-per-node", "2", "testdata/plain_ddp.py"}
	for _, c := range []struct {
		at     program.Setting
		args   []string
		status int
		wants  []string
	}{
		{s, append([]string{"run", "--run", "good"}, job...), 1, []string{"that are recorded: 2", "exitcode  : 5"}},
		{wrong, append([]string{"run", "--run", "bad"}, job...), 1, []string{"that are recorded: 2"}},
		{s, []string{"compare", "bad", "good"}, 1, []string{"began at     step 0, rank 1, op Module.2.Linear.forward.0", "parameter weight", "plain_ddp.py"}},
		{s, []string{"compare", "good", "good"}, 0, []string{"SAME"}},

		{below, []string{"run", "--run", "two", "--", python, "testdata/plain_gan.py"}, 0, []string{"that are recorded: 1"}},
		{wrongBelow, []string{"run", "--run", "two-wrong", "--", python, "testdata/plain_gan.py"}, 0, []string{"that are recorded: 1"}},
		{below, []string{"compare", "two-wrong", "two"}, 1, []string{"began at     step 0, rank 0, micro step 1 of 2, op Module.Generator.2.Linear.forward.0", "parameter weight"}},
		{below, []string{"compare", "two", "two"}, 0, []string{"SAME"}},

		{below, []string{"run", "--run", "tokens", "--level", "mix", "--", python, "testdata/plain_generate.py"}, 0, []string{"[[0, 1, 2, 3, 4, ", "that are recorded: 1"}},
		{below, []string{"run", "--run", "configured", "--config", config, "--", python, "testdata/plain_generate.py"}, 0, []string{"that are recorded: 1", "run configured: wrote ", "1 step of ranks, to " + dump}},
		{below, []string{"run", "--run", "again", "--config", config, "--", python, "testdata/plain_gan.py"}, 0, []string{"the dump that --config asks for is not written to its dump_path", "export msprobe --run again DIR"}},
		{below, []string{"compare", dump, dump}, 0, []string{"SAME"}},
		{below, []string{"run", "--run", "none", "--apis", "none.yaml", "--", "true"}, 2, []string{"--apis", "none.yaml: no such file"}},
		{below, []string{"run", "--run", "driven", "--as-msprobe", "--", python, "testdata/calls_msprobe.py", config}, 0, []string{"msprobe in this process is tensortap", "that are recorded: 1"}},
		{below, []string{"query", stepsOfRuns, "--output", "csv"}, 0, []string{"configured,[1],0", "driven,[1],0", `tokens,"[0,1,2,3]",1`}},
		{below, []string{"runs", "--output", "csv"}, 0, []string{"tokens,ended", "LlamaForCausalLM"}},

		{s, []string{"__complete", "compare", "good", "ba"}, 0, []string{"bad\n"}}, // where no system runs
		{s, []string{"run", "--run", "good", "--", "true"}, 2, []string{"run good is recorded already", "--resume"}},
		{s, []string{"run", "--run", "none", "--", "sh", "-c", "exit 7"}, 7, []string{"nothing was recorded"}},
		{below, []string{"run", "--run", "none", "--", "no such program"}, 127, []string{"start no such program"}},
		{below, []string{"run", "--run", "none", "--", "sh", "-c", "kill -9 $$"}, 137, nil},
		{listed, []string{"run", "--run", "none", "--", "sh", "-c", "exit 7"}, 7, []string{"VLLM_PLUGINS leaves out the plug-in tensortap"}},
		{below, []string{"run", "--run", "none", "--eager", "--steps", "0, 3-5,10-100/10,200-", "--", "sh", "-c", "echo dynamo $TORCHDYNAMO_DISABLE"}, 0, []string{"dynamo 1", "nothing was recorded"}},
		{below, []string{"run", "--run", "none", "--seed", "x", "--", "true"}, 2, []string{`--seed "x": want a whole number from 0 to 4294967295`}},
		{below, []string{"run", "--run", "none", "--seed", "7", "--deterministic", "--", python, "-c", "import random, torch; print(random.random(), torch.are_deterministic_algorithms_enabled())"}, 0, []string{"0.32383276483316237 True"}},
		{below, []string{"run", "--run", "none", "--level", "L7", "--", "true"}, 2, []string{`--level "L7": want L0, L1, mix, aten or tokens`}},
		{below, []string{"run", "--run", "none", "--steps", "0:2", "--", "true"}, 2, []string{`--steps "0:2": a range is written with a hyphen: 0-2`}},
		{below, []string{"run", "--run", "none", "--config", "none.json", "--", "true"}, 2, []string{"--config", "none.json: no such file"}},
	} {
		out := program.Run(t, c.at, c.args...)
		if out.Status != c.status {
			t.Errorf("%q: status %d, want %d: %v", c.args, out.Status, c.status, out)
		}
		for _, want := range c.wants {
			if !strings.Contains(out.Stdout+out.Stderr, want) {
				t.Errorf("%q lacks %q: %v", c.args, want, out)
			}
		}
	}
}

const stepsOfRuns = `SELECT run, arraySort(groupUniqArray(step)), max(op LIKE 'Functional.linear.%')
FROM tap.tensors WHERE run IN ('configured', 'driven', 'tokens') GROUP BY run ORDER BY run`

// TestProgramsThatOverlapShareASystem launches two programs and asks a question at once, where nothing runs.
func TestProgramsThatOverlapShareASystem(t *testing.T) {
	t.Parallel()
	s := program.Setting{Data: t.TempDir()}
	commands := [][]string{
		{"run", "--run", "short", "--", "sleep", "0.2"},
		{"run", "--run", "long", "--", "sleep", "2"},
		{"run", "--run", "late", "--", "sleep", "1"},
	}
	if out := program.Run(t, s, commands[0]...); out.Status != 0 {
		t.Fatalf("a first program: %v", out)
	}
	commands = append(commands, []string{"runs"}, []string{"runs"}, []string{"query", "SELECT 1"})
	outcomes := make([]program.Outcome, len(commands))
	var group sync.WaitGroup
	for i, command := range commands {
		group.Go(func() { outcomes[i] = program.Run(t, s, command...) })
	}
	group.Wait()
	for i, out := range outcomes {
		if out.Status != 0 {
			t.Errorf("%q: %v", commands[i], out)
		}
	}
}
