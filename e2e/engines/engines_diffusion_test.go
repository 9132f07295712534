package engines

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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
func TestEngineDiffusion(t *testing.T) {
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
	trial := engineTrial{TB: t, engine: diffusion(), tp: 1, folder: folder, up: program.StartUp(t, t.TempDir()), results: newOutcomes(t, "diffusion")}
	trial.servePictures("good", good)
	trial.checkDenoising()
	trial.checkStates("good", "ended")
	trial.servePictures("bad", bad)
	trial.checkScaledNoise()
	trial.checkShapesOfPictures(good)
}

// servePictures asks for a picture, and ends the server in order.
func (e engineTrial) servePictures(run, model string, flags ...string) {
	e.Helper()
	s := e.start(run, model, flags...)
	e.answer(s, []inference{{name: "a cat", tokens: denoising}})
	s.stop(e)
	e.up.Settle(e)
}
