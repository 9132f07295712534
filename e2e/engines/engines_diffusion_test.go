package engines

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
)

// diffusion is SGLang's server of pictures, whose worker of `multimodal_gen` runs pipelines of diffusers here.
func diffusion() engine {
	return engine{
		name: "diffusion", module: "sglang.multimodal_gen.runtime.entrypoints.cli.main", verb: "serve", model: "--model-path", split: "--num-gpus", ready: "/health",
		flags:       []string{"--backend", "diffusers", "--warmup-mode", "off"},
		environment: sglang().environment,
		ask: func(r inference) (string, map[string]any) {
			return "/v1/images/generations", map[string]any{
				"prompt": r.name, "size": "16x16", "num_inference_steps": r.tokens, "seed": 7, "generator_device": "cpu", "response_format": "b64_json",
			}
		},
	}
}

// denoising is how many steps a picture takes here.
const denoising = 4

// TestEngineDiffusion serves pictures of a tiny pipeline, as it should be and with a weight scaled of what takes noise away.
func TestEngineDiffusion(t *testing.T) { //nolint:paralleltest // each engine needs the machine for itself
	folder := engineFolder(t)
	python := filepath.Join(folder, "diffusion", "bin", "python")
	if _, err := os.Stat(python); err != nil {
		t.Fatalf("make engines-diffusion installs it: %v", err)
	}
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "good"), filepath.Join(dir, "bad")
	out, err := exec.CommandContext(t.Context(), python, "testdata/diffusion/tiny_pipeline.py", good, bad).CombinedOutput() //nolint:gosec // of this test
	if err != nil {
		t.Fatalf("write the pipelines: %v\n%s", err, out)
	}
	server := diffusion()
	server.flags = append(server.flags, "--output-path", filepath.Join(dir, "pictures")) // else it writes them where it runs
	trial := engineTrial{TB: t, engine: server, tp: 1, folder: folder, up: program.StartUp(t, t.TempDir()), results: newOutcomes(t, "diffusion")}
	trial.servePictures("good", good)
	trial.checkDenoising()
	trial.checkStates("good", "ended")
	trial.servePictures("bad", bad)
	trial.checkScaledNoise()
	trial.checkShapesOfPictures(good)
}

// servePictures asks for a picture, whose steps are whole at once, and ends the server in order: on Ctrl-C, as on SIGTERM its worker
// is killed.
func (e engineTrial) servePictures(run, model string) {
	e.Helper()
	s := e.start(run, model)
	e.answer(s, []inference{{name: "a cat", tokens: denoising}})
	e.awaitSteps(run, denoising+1)
	_ = s.cmd.Process.Signal(syscall.SIGINT)
	s.wait(e)
	e.up.Settle(e)
}

// checkDenoising looks which networks were called in each step: the words are read twice, the second time with the first noise.
func (e engineTrial) checkDenoising() {
	got := e.rows(`SELECT step, countIf(op LIKE 'Module.encoder.%%') > 0, countIf(op LIKE 'Module.UNet2DConditionModel.%%') > 0, countIf(op LIKE 'Module.AutoencoderKL.%%') > 0
		FROM tap.tensors WHERE run = 'good' GROUP BY step ORDER BY step`)
	want := []string{"0,1,0,0", "1,1,1,0", "2,0,1,0", "3,0,1,0", "4,0,1,1"}
	e.check("a picture: words, each step that takes noise away, the picture", fmt.Sprintf("%d steps", len(want)), differs(got, want))
}

// checkScaledNoise lets compare find the weight that was scaled.
func (e engineTrial) checkScaledNoise() {
	out := program.Run(e, e.up.Setting, "compare", "bad", "good")
	began := "began at     step 1, rank 0, op Module.UNet2DConditionModel.mid_block.resnets.0.conv1."
	var err error
	if out.Status != program.ExitDiffers || !strings.Contains(out.Stdout, began) {
		err = fmt.Errorf("lacks %q: %v", began, out)
	}
	e.check("compare names the scaled module", "unet, mid_block.resnets.0.conv1, in the first step that takes noise away", err)
}

// checkShapesOfPictures has the worker write the log of SGLang's shape profiler, in which it leaves equal lines out unless told.
func (e engineTrial) checkShapesOfPictures(model string) {
	log := filepath.Join(e.TempDir(), "shapes.jsonl")
	asked := e
	asked.engine.environment = func(folder string, tp int) []string {
		return append(e.engine.environment(folder, tp), "SGLANG_PROFILE_SHAPES=1", "SGLANG_PROFILE_SHAPES_FILE="+log)
	}
	asked.servePictures("shapes", model)
	var summary struct {
		Enabled bool `json:"dedupe_enabled"`
		Skipped int  `json:"dedupe_skipped_count"`
		Passes  int  `json:"forward_passes"`
		Total   int  `json:"total_operations"`
	}
	text, err := os.ReadFile(strings.TrimSuffix(log, ".jsonl") + "_summary.json")
	if err == nil {
		err = json.Unmarshal(text, &summary)
	}
	if err == nil && (!summary.Enabled || summary.Skipped == 0 || summary.Passes != denoising+1) {
		err = fmt.Errorf("%+v", summary)
	}
	e.check("SGLANG_PROFILE_SHAPES: equal lines are left out, as there", fmt.Sprintf("%d of %d ops", summary.Skipped, summary.Total), err)
	out := program.Run(e, e.up.Setting, "publish", "sglang-shapes", log, "--run", "log")
	if err = nil; out.Status != 0 {
		err = errors.New(out.Stderr)
	}
	got := e.rows(`SELECT labels['deduped'] FROM tap.runs WHERE name = 'log'`)
	e.check("its log is published, and known as one without repeated lines", "", errors.Join(err, differs(got, []string{"true"})))
}
