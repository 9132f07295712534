package answers

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
)

// nothingStarts has no system start: there is neither a folder for a temporary one nor an engine.
func nothingStarts(t *testing.T) program.Setting {
	t.Helper()
	nowhere := filepath.Join(t.TempDir(), "nowhere")
	return program.Setting{Env: []string{"TMPDIR=" + nowhere, "TENSORTAP_ENGINE=" + nowhere, "TENSORTAP_DATA=" + nowhere}}
}

func TestOverflowOfFoldersNamesRankAndOpAndStartsNothing(t *testing.T) {
	t.Parallel()
	s := nothingStarts(t)
	for _, c := range []struct {
		dump   string
		status int
		parts  []string
	}{
		{"D_tp_rank1_nan", 1, []string{
			"NOT FINITE ", "looked at ", "began at     step 1, rank 1, op Tensor.__setitem__.0.forward\n", "in module layers.1.up\n",
			"input 2 (argument): NaN\n", "called at File ", "\nnext ",
		}},
		{"B00_golden_mix", 0, []string{"CLEAN ", "looked at ", ", 1 rank\n"}},
	} {
		out := program.Run(t, s, "overflow", recorded.Unpack(t, c.dump))
		for _, part := range c.parts {
			if out.Status != c.status || out.Stderr != "" || !strings.Contains(out.Stdout, part) {
				t.Errorf("overflow %s: %v\nwant status %d and %q", c.dump, out, c.status, part)
			}
		}
		if c.status == 0 && strings.Contains(out.Stdout, "began at") {
			t.Errorf("overflow %s: %v, want no origin", c.dump, out)
		}
	}
}

func TestTheCommandsAnAnswerEndsWithAskTheSame(t *testing.T) {
	t.Parallel()
	s := nothingStarts(t)
	problem, bench := recorded.Unpack(t, "D_ddp_rank1_weight"), recorded.Unpack(t, "D_ddp_golden")
	for flags, want := range map[string]string{
		"--tolerance 1e-3 --rank 1 --steps 0": "explain --problem " + problem + " --bench " + bench + " --tolerance 0.001 --op ",
		"--rank 1":                            " --step 0 --rank 1\nor           tensortap compare " + problem + " " + bench + " --rank 1 --limit 100 --output csv\n",
		"--strict":                            " --strict --limit 100 --output csv\n",
	} {
		out := program.Run(t, s, append([]string{"compare", problem, bench}, strings.Fields(flags)...)...)
		if !strings.Contains(out.Stdout, want) {
			t.Errorf("compare %s: want %q in %v", flags, want, out)
		}
	}
}

func TestAReaderThatHasSeenEnoughChangesNoStatus(t *testing.T) {
	t.Parallel()
	problem, bench := recorded.Unpack(t, "D_tp_rank1_nan"), recorded.Unpack(t, "B00_golden_mix")
	for line, status := range map[string]int{"overflow " + problem: 1, "overflow " + bench: 0, "overflow -o csv " + problem: 1, "compare " + bench + " " + bench: 0} {
		reader, writer, err := os.Pipe()
		if err != nil || reader.Close() != nil {
			t.Fatal(err)
		}
		cmd := program.Command(t, nothingStarts(t), strings.Fields(line)...)
		cmd.Stdout = writer
		err = cmd.Run()
		_ = writer.Close()
		if got := cmd.ProcessState.ExitCode(); got != status {
			t.Errorf("%s: status %d, %v, want %d", line, got, err, status)
		}
	}
}

func TestOverflowLooksAtStepsWithGaps(t *testing.T) {
	t.Parallel()
	dir := recorded.Unpack(t, "B14_nan_l2_mlp_step1_mix")
	for steps, status := range map[string]int{"0": 0, "0,7-9": 0, "0,1": 1, "1,5-": 1, "3,5": 2} {
		if out := program.Run(t, nothingStarts(t), "overflow", dir, "--steps", steps); out.Status != status {
			t.Errorf("overflow --steps %s: %v, want status %d", steps, out, status)
		}
	}
}

func TestOverflowOfAStoredRunAnswersAsAsked(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	const run = "overflow's stored run"
	u.Publish(t, recorded.Unpack(t, "B14_nan_l2_mlp_step1_mix"), run)
	if out := program.Run(t, u.Setting, "overflow", run, "--steps", "0"); out.Status != 0 || !strings.HasPrefix(out.Stdout, "CLEAN ") {
		t.Errorf("of a step before the fault: %v", out)
	}
	if out := program.Run(t, u.Setting, "overflow", run); out.Status != 1 || !strings.Contains(out.Stdout, `--run 'overflow'\''s stored run'`) {
		t.Errorf("%v, want what to type next", out)
	}
	out := program.Run(t, u.Setting, "overflow", run, "--output", "json")
	var answer struct {
		Verdict string
		Counts  map[string]int
		Origins []struct{ Op, Module, Kind, Literal string }
	}
	if err := json.Unmarshal([]byte(out.Stdout), &answer); err != nil || out.Status != 1 {
		t.Fatalf("read answer: %v in %v", err, out)
	}
	if answer.Verdict != "not_finite" || answer.Counts["not_finite"] == 0 || len(answer.Origins) != 1 ||
		answer.Origins[0].Module != "model.layers.2.mlp" || answer.Origins[0].Kind != "argument" || answer.Origins[0].Literal != "NaN" {
		t.Errorf("answer = %+v", answer)
	}
	if out := program.Run(t, u.Setting, "overflow", run, "-o", "msprobe-json"); out.Status != 1 || !strings.Contains(out.Stdout, "Module.model.layers.2.mlp.LlamaMLP.forward.0") {
		t.Errorf("as msProbe: %v, want the op that msProbe names", out)
	}
	if lines := program.ParseCSV(t, program.Run(t, u.Setting, "overflow", run, "-o", "csv").Stdout); len(lines) != 2 {
		t.Errorf("as CSV: %v, want one origin", lines)
	}
}

// What msProbe wrote is of step 1, the first at which its rules find anything. Of the golden run it has no file.
func TestOverflowWritesTheFileOfMsprobe(t *testing.T) {
	t.Parallel()
	runs := map[string]int{"D_tp_rank1_nan": 1, "B14_nan_l2_mlp_step1_mix": 1, "B00_golden_mix": 0}
	u := program.PublishOnce(t, slices.Collect(maps.Keys(runs))...)
	for run, status := range runs {
		want, err := os.ReadFile(filepath.Join("../../analysis/msprobe/msprobeoverflow/testdata", run+".json"))
		if err != nil && status == 1 {
			t.Fatal(err)
		}
		out := program.Run(t, u.Setting, "overflow", run, "--output", "msprobe-json")
		if out.Status != status || out.Stdout != string(want) || out.Stderr != "" {
			t.Errorf("overflow %s: %v\nwant status %d and\n%s", run, out, status, want)
		}
	}
}

func TestOverflowOfAFolderWritesTheFileOfMsprobe(t *testing.T) {
	t.Parallel()
	dir := recorded.Unpack(t, "D_tp_rank1_nan")
	want, err := os.ReadFile("../../analysis/msprobe/msprobeoverflow/testdata/D_tp_rank1_nan.json")
	if err != nil {
		t.Fatal(err)
	}
	if out := program.Run(t, nothingStarts(t), "overflow", dir, "--output", "msprobe-json"); out.Status != 1 || out.Stdout != string(want) || out.Stderr != "" {
		t.Errorf("overflow of a folder: %v\nwant status 1 and\n%s", out, want)
	}
	before := program.Run(t, nothingStarts(t), "overflow", dir, "--output", "msprobe-json", "--steps", "0")
	if before.Status != 0 || before.Stdout != "" || before.Stderr != "" {
		t.Errorf("overflow of a folder's step before the fault: %v, want nothing", before)
	}
}

func TestOverflowThatCannotSaySaysWhy(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	const run = "structure for overflow"
	u.Publish(t, recorded.Unpack(t, "A_llama_mix_structure"), run)
	for _, c := range []struct {
		args   []string
		stdout string
		stderr string
	}{
		{[]string{"overflow", run, "--steps", "7"}, "UNKNOWN ", "cannot say"},
		{[]string{"overflow", run, "--steps", "7", "-o", "json"}, "{\n  \"verdict\": \"unknown\",\n  \"run\": \"" + run + "\",\n  \"unknown_because\": \"there are no tensors", "cannot say"},
		{[]string{"overflow", "no such run"}, "", "no run is named"},
		{[]string{"overflow", run, "--steps", "x"}, "", `"x" for "--steps" flag: want numbers`},
		{[]string{"overflow", run, "--output", "msprobe-json", "--rank", "1"}, "", "leave out --rank"},
		{[]string{"overflow", run, "--output", "x"}, "", `output "x"`},
	} {
		out := program.Run(t, u.Setting, c.args...)
		if out.Status != 2 || !strings.HasPrefix(out.Stdout, c.stdout) || !strings.Contains(out.Stderr, c.stderr) {
			t.Errorf("%v: %v, want status 2, %q and %q", c.args, out, c.stdout, c.stderr)
		}
	}
}

func TestOverflowOfAnIncompleteRunSaysSoFirst(t *testing.T) {
	t.Parallel()
	s := program.Setting{Env: []string{"TMPDIR=" + t.TempDir()}}
	dir := recorded.Unpack(t, "B00_golden_L0")
	path := filepath.Join(dir, "step0", "rank0", "dump.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text[:len(text)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	out := program.Run(t, s, "overflow", dir)
	if out.Status != 2 || !strings.HasPrefix(out.Stdout, "INCOMPLETE ") || !strings.Contains(out.Stdout, "UNKNOWN ") {
		t.Errorf("%v, want status 2 and INCOMPLETE first", out)
	}
}
