package answers

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
)

// TestTensorsOfStoredRunsAreShownAndDiffed asks for raw tensors of two published dumps.
func TestTensorsOfStoredRunsAreShownAndDiffed(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	folders, runs := tensorDumps(t), [2]string{"tensor-problem", "tensor-bench"}
	publishPair(t, u, folders, runs)
	const op = "Module.model.layers.1.mlp.Qwen3MLP.forward.0"
	show := program.Run(t, u.Setting, "tensor", "show", "--run", runs[0], "--op", op, "--dir", folders[0])
	if show.Status != program.ExitSame || !strings.Contains(show.Stdout, runs[0]+": "+op+" output") || !strings.Contains(show.Stdout, "histogram") {
		t.Errorf("tensor show: %v", show)
	}
	diff := []string{"tensor", "diff", "--problem", runs[0], "--bench", runs[1], "--op", op, "--problem-dir", folders[0], "--bench-dir", folders[1]}
	out := program.Run(t, u.Setting, append(diff, "--output", "json")...)
	var said struct {
		Verdict  string             `json:"verdict"`
		Distance map[string]float64 `json:"distance"`
	}
	if err := json.Unmarshal([]byte(out.Stdout), &said); err != nil || out.Status != program.ExitDiffers || said.Verdict != "differs" ||
		said.Distance["l2_distance"] < 0.377178 || said.Distance["l2_distance"] > 0.377179 {
		t.Errorf("tensor diff: %v, %v", err, out)
	}
	if out := program.Run(t, u.Setting, append(diff, "--role", "input", "--path", "nowhere")...); out.Status != program.ExitError ||
		!strings.Contains(out.Stderr, "has no such raw tensor of "+op+"; it has:\n  "+op) {
		t.Errorf("tensor diff of a tensor that is not kept: %v", out)
	}
	if out := program.Run(t, u.Setting, "tensor", "show", "--run", runs[0], "--op", "Functional.liner.7.forward"); out.Status != program.ExitError || !strings.Contains(out.Stderr, "the nearest are") {
		t.Errorf("tensor show of an unknown op: %v", out)
	}
}

const savedTensors = "testdata/tensor"

// TestTensorsInFilesAreDiffed has status 0, 1 and 2, and says what is wrong.
func TestTensorsInFilesAreDiffed(t *testing.T) {
	t.Parallel()
	in := program.Setting{Dir: savedTensors}
	for _, c := range []struct {
		args   string
		status int
		says   string
	}{
		{"diff good.safetensors good.safetensors norm", program.ExitSame, "same: all 32 elements are equal"},
		{"diff bad.safetensors good.safetensors norm", program.ExitDiffers, "1 in the problem alone at [3]"},
		{"diff bad.safetensors good.safetensors layers.0.q.weight norm", program.ExitDiffers, "differs: the shapes are [16 32] and [32]"},
		{"diff bad.safetensors good.safetensors norm --tolerance 1e-3", program.ExitDiffers, "differs: 2 of 32"},
		{"diff bad.safetensors good.safetensors", program.ExitError, "it holds 2 tensors: name one after the file:\n  layers.0.q.weight [16 32] bfloat16"},
		{"diff bad.safetensors gone.safetensors norm", program.ExitError, "bench: open gone.safetensors: no such file"},
		{"diff bad.safetensors", program.ExitError, "name two files"},
		{"diff bad.safetensors good.safetensors norm --op x", program.ExitError, "does not go with"},
		{"show bad.safetensors norm", program.ExitSame, "+Inf        1 at [7]"},
		{"show bad.safetensors norm --output csv", program.ExitSame, "+Inf,problem,[7],"},
		{"show bad.safetensors nrom", program.ExitError, `it holds no tensor "nrom"; it holds:`},
		{"show", program.ExitError, "name a file, or a tensor of a run by --run and --op"},
	} {
		out := program.Run(t, in, append([]string{"tensor"}, strings.Fields(c.args)...)...)
		if out.Status != c.status || !strings.Contains(out.Stdout+out.Stderr, c.says) {
			t.Errorf("tensor %s: status %d, want %d and %q\n%s%s", c.args, out.Status, c.status, c.says, out.Stdout, out.Stderr)
		}
	}
}

func TestThePageOfTensorsShowsWhatTheCommandPrints(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/tensor.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(text), "$ tensortap ")
	command, rest, _ := strings.Cut(block, "\n")
	want, _, found := strings.Cut(rest, "```")
	out := program.Run(t, program.Setting{Dir: savedTensors}, strings.Fields(command)...)
	if !found || out.Stdout != want {
		t.Errorf("tensortap %s\ngot\n%s\nthe page says\n%s", command, out.Stdout, want)
	}
}
