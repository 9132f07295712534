package engines

import (
	"encoding/csv"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
)

// rolloutFault is what testdata/rl_vllm.py does wrong, and what each of its steps should say: verdict, cause and place.
type rolloutFault struct {
	name string
	want []string
}

func rolloutFaults() []rolloutFault {
	all := func(said string) []string { return slices.Repeat([]string{said}, 4) }
	return []rolloutFault{
		{"right", all("flat")},
		{"unsynchronised", []string{"flat", "flat", "drifts, weights, lm_head.weight", "flat"}},
		{"positions", all("drifts, prefix cache, attention")},
		{"temperature", all("drifts, temperature, logits")},
		{"router", all("drifts, precision, model.layers.0.mlp.gate")},
	}
}

// TestEngineRollout has vLLM sample for a trainer in plain PyTorch, right and with one fault at a time, and wants the steps that
// drift to be named with their cause.
func TestEngineRollout(t *testing.T) { //nolint:paralleltest // an engine needs the machine for itself
	trial := engineTrial{TB: t, engine: vllm(), tp: 1, folder: engineFolder(t), up: program.StartUp(t, t.TempDir()), results: newOutcomes(t, "rollout")}
	var names []string
	for _, fault := range rolloutFaults() {
		names = append(names, fault.name)
	}
	trial.reinforce(names...)
	for _, fault := range rolloutFaults() {
		steps := trial.judgedSteps(fault.name)
		trial.check("each step of a rollout: "+fault.name, strings.Join(steps, "; "), differs(steps, fault.want))
	}
}

// reinforce runs testdata/rl_vllm.py to its end.
func (e engineTrial) reinforce(faults ...string) {
	e.Helper()
	root := filepath.Join(e.up.Data, "spool")
	source, err := filepath.Abs("../../producers/torch/src")
	if err != nil {
		e.Fatal(err)
	}
	words := append([]string{"testdata/rl_vllm.py", filepath.Join(e.TempDir(), "weights")}, faults...)
	cmd := exec.CommandContext(e.Context(), filepath.Join(e.folder, "vllm", "bin", "python"), words...) //nolint:gosec // the engines' own
	cmd.Env = append(append(os.Environ(), e.quiet()...), append(e.engine.environment(e.folder, 1), "PYTHONPATH="+source, "TENSORTAP_SPOOL="+root)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		e.Fatalf("%v\n%s", err, out)
	}
	program.Served(e, root)
	e.up.Settle(e)
}

// judgedSteps are verdict, cause and the first place of each step.
func (e engineTrial) judgedSteps(fault string) (steps []string) {
	e.Helper()
	out := program.Run(e, e.up.Setting, "report", "logprobs", "--problem", "rollout-"+fault, "--bench", "trainer-"+fault, "--output", "csv")
	rows, err := csv.NewReader(strings.NewReader(out.Stdout)).ReadAll()
	if err != nil || len(rows) < 2 {
		e.Fatalf("%s: %v", out, err)
	}
	for _, row := range rows[1:] {
		var said []string
		for _, name := range []string{"verdict", "cause", "place"} {
			if first, _, _ := strings.Cut(row[slices.Index(rows[0], name)], ", "); first != "" {
				said = append(said, first)
			}
		}
		steps = append(steps, strings.Join(said, ", "))
	}
	return steps
}
