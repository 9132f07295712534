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

// TestEngineCross holds the engines against Transformers, with the same weights and with rows of one scaled, on one rank and
// on two.
func TestEngineCross(t *testing.T) { //nolint:paralleltest // each engine needs the machine for itself
	folder := engineFolder(t)
	models := checkpoints(t, folder, 2, 128)
	up := program.StartUp(t, t.TempDir())
	trial := engineTrial{TB: t, folder: folder, up: up}
	trial.generate("hf", models.good)
	for _, e := range engines() { //nolint:paralleltest // likewise
		for _, tp := range []int{1, 2} {
			t.Run(fmt.Sprintf("%s tp=%d", e.name, tp), func(t *testing.T) {
				trial := engineTrial{TB: t, engine: e, tp: tp, folder: folder, up: up}
				good, bad := fmt.Sprintf("%s-good-%d", e.name, tp), fmt.Sprintf("%s-bad-%d", e.name, tp)
				trial.serveOnce(good, models.good)
				trial.serveOnce(bad, models.bad)
				trial.checkSame(good)
				trial.checkScaled(bad)
			})
		}
	}
}

// generate has Transformers generate, below `tensortap run`.
func (e engineTrial) generate(run, model string) {
	e.Helper()
	at := program.Setting{Data: e.up.Data, Env: e.quiet()}
	out := program.Run(e, at, "run", "--run", run, "--", filepath.Join(e.folder, "vllm", "bin", "python"), "testdata/generate.py", model)
	if out.Status != 0 {
		e.Fatal(out)
	}
	e.up.Settle(e)
}

func (e engineTrial) serveOnce(run, model string) {
	e.Helper()
	s := e.start(run, model)
	e.answer(s, crossed())
	s.stop(e)
	e.up.Settle(e)
}

func (e engineTrial) checkSame(run string) {
	out := program.Run(e, e.up.Setting, "compare", run, "hf")
	if out.Status != 0 || !strings.Contains(out.Stdout, "under the map llama: "+e.engine.name+" ↔ transformers") || !strings.Contains(out.Stdout, "joined (q, k, v; gate, up)") {
		e.Errorf("%s beside Transformers: %v", run, out)
	}
	e.Log(out.Stdout)
}

func (e engineTrial) checkScaled(run string) {
	out := program.Run(e, e.up.Setting, "compare", run, "hf")
	_, began, _ := strings.Cut(out.Stdout, "began at")
	line, _, _ := strings.Cut(began, "\n")
	if out.Status != program.ExitDiffers || !strings.Contains(line, "layers.1.mlp.gate_up_proj") || e.tp > 1 && !strings.Contains(began, fmt.Sprintf("rank %d", e.tp-1)) {
		e.Errorf("%s beside Transformers: %v", run, out)
	}
	e.Log(out.Stdout)
}
