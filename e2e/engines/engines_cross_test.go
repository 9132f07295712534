package engines

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
)

// crossed is what both implementations are given: the prompt of testdata/generate.py.
func crossed() []inference {
	return []inference{{name: "crossed", prompt: tokensFrom(10, 32), tokens: 4}}
}

// crossModel is a model of testdata/tiny_family.py, or the Llama of checkpoints, with the map that is chosen for it.
type crossModel struct {
	name, family string
	faults       []crossFault
}

// crossFault is a fault of testdata/generate.py, which has Transformers differ from an engine that is right, and so
// the engine from Transformers.
type crossFault struct{ name, module string } // in which the difference begins

// crossModels have faults that are named as far as statistics and sketches show them: the rotation in what the attention gives,
// a swap of k and v in the norm of k, and without one likewise; a small update of all weights of a layer somewhere in that layer.
func crossModels() []crossModel {
	faults := func(up, swapped string) []crossFault {
		return []crossFault{
			{"scaled_rows", "model.layers.1.mlp." + up},
			{"swapped", "model.layers.1.self_attn." + swapped},
			{"rope_base", "model.layers.0.self_attn.o_proj"},
			{"norm_epsilon", "model.layers.1.input_layernorm"},
			{"tied", "logits_processor"},
			{"adapter", "model.layers.1.self_attn.o_proj"},
			{"updated", "model.layers.1"},
		}
	}
	return []crossModel{
		{"llama", "llama", faults("gate_up_proj", "o_proj")},
		{"qwen3", "qwen3", faults("gate_up_proj", "k_norm")},
		{"qwen3_moe", "qwen3-moe", append(faults("experts", "k_norm"), crossFault{"router_bias", "model.layers.1.mlp.gate"})},
	}
}

// TestEngineCross holds the engines, on one rank and on two, against Transformers: with the same weights, and with one thing
// at a time that differs.
func TestEngineCross(t *testing.T) { //nolint:paralleltest // each engine needs the machine for itself
	folder := engineFolder(t)
	llamas := checkpoints(t, folder, 2, 128)
	for _, m := range crossModels() { //nolint:paralleltest // likewise
		t.Run(m.name, func(t *testing.T) {
			trial := engineTrial{TB: t, folder: folder, up: program.StartUp(t, t.TempDir()), results: newOutcomes(t, "cross "+m.name), env: []string{"TENSORTAP_SKETCH=1"}}
			path := llamas.good
			if m.name != "llama" {
				path = trial.writeFamily(m.name)
			}
			trial.generate("hf", path)
			for _, f := range m.faults {
				trial.generate("hf-"+f.name, path, f.name)
			}
			for _, e := range engines() { //nolint:paralleltest // likewise
				for _, tp := range []int{1, 2} {
					t.Run(fmt.Sprintf("%s tp=%d", e.name, tp), func(t *testing.T) {
						trial := trial
						trial.TB, trial.engine, trial.tp = t, e, tp
						trial.crossWith(m, path)
						if m.name == "llama" && tp == 2 {
							trial.crossTwice(llamas.twice)
						}
					})
				}
			}
			for _, tp := range []int{1, 2} { //nolint:paralleltest // likewise
				t.Run(fmt.Sprintf("engines tp=%d", tp), func(t *testing.T) {
					trial := trial
					trial.TB = t
					trial.checkEngines(m, tp)
				})
			}
		})
	}
}

// writeFamily writes a small model, and returns its folder.
func (e engineTrial) writeFamily(name string) string {
	e.Helper()
	path := filepath.Join(e.TempDir(), name)
	cmd := exec.CommandContext(e.Context(), filepath.Join(e.folder, "vllm", "bin", "python"), "testdata/tiny_family.py", name, path) //nolint:gosec // the engines' own
	cmd.Env = append(os.Environ(), e.quiet()...)
	if out, err := cmd.CombinedOutput(); err != nil {
		e.Fatalf("write %s: %v\n%s", name, err, out)
	}
	return path
}

// generate has Transformers generate, below `tensortap run`.
func (e engineTrial) generate(run, model string, faults ...string) {
	e.Helper()
	e.generateWith(run, nil, append([]string{model}, faults...)...)
}

// generateWith has testdata/generate.py do what the words say, below `tensortap run` with these flags.
func (e engineTrial) generateWith(run string, flags []string, words ...string) {
	e.Helper()
	at := program.Setting{Data: e.up.Data, Env: e.quiet()}
	script := []string{"--", filepath.Join(e.folder, "vllm", "bin", "python"), "testdata/generate.py"}
	if out := program.Run(e, at, slices.Concat([]string{"run", "--run", run}, flags, script, words)...); out.Status != 0 {
		e.Fatal(out)
	}
	e.up.Settle(e)
}

// runOf is the run of a model served by the engine.
func (e engineTrial) runOf() string { return fmt.Sprintf("%s-%d", e.engine.name, e.tp) }

// crossWith serves a run, and compares it with each of Transformers.
func (e engineTrial) crossWith(m crossModel, path string) {
	e.Helper()
	e.serveCrossed(e.runOf(), path)
	e.checkSame(m)
	e.checkPaired(e.runOf())
	for _, f := range m.faults {
		e.checkFault(f)
	}
	if m.name == "llama" {
		e.checkExplain(e.runOf())
	}
}

// serveCrossed serves a model until it has answered.
func (e engineTrial) serveCrossed(run, path string) {
	e.Helper()
	s := e.start(run, path)
	e.answer(s, crossed())
	s.stop(e)
	e.up.Settle(e)
}

// crossTwice serves a model of which the second rank loads the shard of the first, and wants that rank.
func (e engineTrial) crossTwice(path string) {
	e.Helper()
	run := e.runOf() + "-twice"
	e.serveCrossed(run, path)
	out := program.Run(e, e.up.Setting, "compare", run, "hf")
	began := beganAt(out.Stdout)
	var err error
	if !strings.Contains(began, "rank 1, op Module.model.layers.1.mlp.") || !strings.Contains(out.Stdout, "in rank 1: its part is that of another rank") {
		err = fmt.Errorf("%v", out)
	}
	e.check("loaded_twice is named, with its rank", began, err)
}

// checkEngines compares the engines with each other, each on so many ranks.
func (e engineTrial) checkEngines(m crossModel, tp int) {
	e.Helper()
	e.engine.name, e.tp = "sglang, vllm", tp
	out := program.Run(e, e.up.Setting, "compare", fmt.Sprintf("sglang-%d", tp), fmt.Sprintf("vllm-%d", tp))
	var err error
	if out.Status != program.ExitSame || !strings.Contains(out.Stdout, "under the map "+m.family+": sglang ↔ vllm") {
		err = fmt.Errorf("%v", out)
	}
	e.check("the engines are SAME", lineOf(out.Stdout, "compared "), err)
}

func (e engineTrial) checkSame(m crossModel) {
	out := program.Run(e, e.up.Setting, "compare", e.runOf(), "hf")
	var err error
	if out.Status != program.ExitSame || !strings.Contains(out.Stdout, "under the map "+m.family+": "+e.engine.name+" ↔ transformers") || !strings.Contains(out.Stdout, "joined (q, k, v") {
		err = fmt.Errorf("%v", out)
	}
	e.check("the same weights are SAME", lineOf(out.Stdout, "compared "), err)
}

// checkPaired counts the tensors of linear layers and norms in the prompt's step: what they took and gave, and the weights of
// norms. Engines may pack those of linear layers away, which the answer says.
func (e engineTrial) checkPaired(run string) {
	got := e.rows(`WITH whole AS (SELECT count() AS count FROM tap.tensors WHERE run = 'hf' AND step = 0 AND kind = 'tensor' AND match(op, '(Linear|Norm)[.]forward')
			AND (role != 'parameter' OR match(op, 'Norm[.]forward'))),
		alone AS (SELECT count() AS count FROM tap_store.verdict AS v JOIN tap_store.site AS s ON s.site_id = v.site_id JOIN tap_store.op AS o ON o.op_id = s.op_id
			JOIN tap_store.layout AS l ON l.layout_id = v.bench_layout_id
			WHERE v.comparison_id IN (SELECT comparison_id FROM tap_store.declared_comparison WHERE problem = '%s' AND benches = ['hf'] AND mapping != '')
			AND v.step = 0 AND v.bench_present = 1 AND v.problem_present = 0 AND l.kind = 'tensor' AND match(o.class_or_api, '(Linear|Norm)$') AND (s.role != 'parameter' OR match(o.class_or_api, 'Norm$')))
		SELECT whole.count - alone.count, whole.count, alone.count <= 0.05 * whole.count FROM whole, alone`, run)
	var counts [3]int
	_, err := fmt.Sscanf(strings.Join(got, ""), "%d,%d,%d", &counts[0], &counts[1], &counts[2])
	if err != nil || counts[2] != 1 {
		err = fmt.Errorf("%q, %v: want 95 %% of the tensors", got, err) //nolint:errorlint // it may be none
	}
	e.check("tensors of linear layers and norms have a partner", fmt.Sprintf("%d of %d", counts[0], counts[1]), err)
}

// checkFault wants a fault to be named by its module.
func (e engineTrial) checkFault(f crossFault) {
	out := program.Run(e, e.up.Setting, "compare", e.runOf(), "hf-"+f.name)
	began := beganAt(out.Stdout)
	var err error
	if out.Status != program.ExitDiffers || !strings.Contains(began, "Module."+f.module+".") {
		err = fmt.Errorf("want %s: %v", f.module, out)
	}
	e.check(f.name+" is named", began, err)
}

// beganAt is where an answer says that a difference began.
func beganAt(text string) string { return lineOf(text, "began at") }

// checkExplain looks at an op of which the other implementation has parts.
func (e engineTrial) checkExplain(run string) {
	out := program.Run(e, e.up.Setting, "explain", "--problem", run, "--bench", "hf-scaled_rows", "--op", "model.layers.1.mlp.gate_up_proj")
	var err error
	if !strings.Contains(out.Stdout, "with Module.model.layers.1.mlp.[gate_proj, up_proj].Linear.forward.0") {
		err = fmt.Errorf("%v", out)
	}
	e.check("explain follows the map", "", err)
}

// lineOf is the first line that begins with a word, without it.
func lineOf(text, word string) string {
	for line := range strings.Lines(text) {
		if rest, found := strings.CutPrefix(line, word); found {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}
