package engines

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
)

// crossed is what both implementations are given: the prompt of testdata/generate.py.
func crossed() []inference {
	return []inference{{name: "crossed", prompt: tokensFrom(10, 32), tokens: 4}}
}

// crossFault is a fault of testdata/generate.py, which has Transformers differ from an engine that is right, and so
// the engine from Transformers.
type crossFault struct {
	name   string
	module string // in which the difference begins
	rank   bool   // only the last of two ranks holds what differs
}

// crossFaults are named as far as statistics show them: the rotation, and a swap of k and v, in what the attention gives; a small
// update of all weights of a layer somewhere in that layer.
func crossFaults() []crossFault {
	return []crossFault{
		{name: "scaled_rows", module: "model.layers.1.mlp.gate_up_proj", rank: true},
		{name: "loaded_twice", module: "model.layers.1.mlp.gate_up_proj", rank: true},
		{name: "swapped", module: "model.layers.1.self_attn.o_proj"},
		{name: "rope_base", module: "model.layers.0"},
		{name: "norm_epsilon", module: "model.layers.1.input_layernorm"},
		{name: "tied", module: "logits_processor"},
		{name: "adapter", module: "model.layers.1.self_attn.o_proj"},
		{name: "updated", module: "model.layers.1"},
	}
}

// TestEngineCross holds the engines, on one rank and on two, against Transformers: with the same weights, and with one thing
// at a time that differs.
func TestEngineCross(t *testing.T) { //nolint:paralleltest // each engine needs the machine for itself
	folder := engineFolder(t)
	model := checkpoints(t, folder, 2, 128).good
	results := newOutcomes(t, "cross")
	trial := engineTrial{TB: t, folder: folder, up: program.StartUp(t, t.TempDir()), results: results}
	trial.generate("hf", model)
	for _, f := range crossFaults() {
		trial.generate("hf-"+f.name, model, f.name)
	}
	for _, e := range engines() { //nolint:paralleltest // likewise
		for _, tp := range []int{1, 2} {
			t.Run(fmt.Sprintf("%s tp=%d", e.name, tp), func(t *testing.T) {
				trial := trial
				trial.TB, trial.engine, trial.tp = t, e, tp
				trial.crossWith(fmt.Sprintf("%s-%d", e.name, tp), model)
			})
		}
	}
}

// generate has Transformers generate, below `tensortap run`.
func (e engineTrial) generate(run, model string, faults ...string) {
	e.Helper()
	at := program.Setting{Data: e.up.Data, Env: e.quiet()}
	words := []string{"run", "--run", run, "--", filepath.Join(e.folder, "vllm", "bin", "python"), "testdata/generate.py", model}
	if out := program.Run(e, at, append(words, faults...)...); out.Status != 0 {
		e.Fatal(out)
	}
	e.up.Settle(e)
}

// crossWith serves a run, and compares it with each of Transformers.
func (e engineTrial) crossWith(run, model string) {
	e.Helper()
	s := e.start(run, model)
	e.answer(s, crossed())
	s.stop(e)
	e.up.Settle(e)
	e.checkSame(run)
	e.checkPaired(run)
	for _, f := range crossFaults() {
		e.checkFault(run, f)
	}
	e.checkExplain(run)
}

func (e engineTrial) checkSame(run string) {
	out := program.Run(e, e.up.Setting, "compare", run, "hf")
	var err error
	if out.Status != program.ExitSame || !strings.Contains(out.Stdout, "under the map llama: "+e.engine.name+" ↔ transformers") || !strings.Contains(out.Stdout, "joined (q, k, v; gate, up)") {
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

// checkFault wants a fault to be named by its module, and by its rank where one alone has it.
func (e engineTrial) checkFault(run string, f crossFault) {
	out := program.Run(e, e.up.Setting, "compare", run, "hf-"+f.name)
	_, began, _ := strings.Cut(out.Stdout, "began at")
	line, _, _ := strings.Cut(began, "\n")
	var err error
	if out.Status != program.ExitDiffers || !strings.Contains(line, "Module."+f.module+".") || f.rank && !strings.Contains(began, fmt.Sprintf("rank %d", e.tp-1)) {
		err = fmt.Errorf("want %s: %v", f.module, out)
	}
	e.check(f.name+" is named", strings.TrimSpace(line), err)
}

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
