package launch_test

import (
	"strings"
	"testing"

	"github.com/tensortap/tensortap/internal/launch"
)

func TestAnEngineIsAskedWithItsOwnFlagAndAnyOtherProgramByAVariable(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"vllm serve model": "vllm serve model --enforce-eager",
		"/venv/bin/python -m vllm.entrypoints.openai.api_server --model m": "/venv/bin/python -m vllm.entrypoints.openai.api_server --model m --enforce-eager",
		"/venv/bin/vllm serve m --enforce-eager":                           "/venv/bin/vllm serve m --enforce-eager",
		"python -m sglang.launch_server --model-path m":                    "python -m sglang.launch_server --model-path m --disable-cuda-graph",
		"vllm serve /models/sglang":                                        "vllm serve /models/sglang --enforce-eager",
		"python -m sglang.launch_server --model-path /models/vllm":         "python -m sglang.launch_server --model-path /models/vllm --disable-cuda-graph",
		"sglang serve --model-path m":                                      "sglang serve --model-path m --disable-cuda-graph",
	} {
		got, variables := launch.Eager(strings.Fields(command))
		if len(variables) > 0 || strings.Join(got, " ") != want {
			t.Errorf("Eager(%q) = %q, %q; want %q", command, got, variables, want)
		}
	}
	for _, command := range []string{"python train.py", "python serve.py --model vllm-tuned", "torchrun train.py /data/sglang.txt"} {
		got, variables := launch.Eager(strings.Fields(command))
		if strings.Join(got, " ") != command || strings.Join(variables, " ") != "TORCHDYNAMO_DISABLE=1" {
			t.Errorf("Eager(%q) = %q, %q; want the same command, and that nothing is compiled", command, got, variables)
		}
	}
}
