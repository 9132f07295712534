package launch_test

import (
	"strings"
	"testing"

	"github.com/tensortap/tensortap/internal/launch"
)

func TestAnEngineIsAskedWithItsOwnFlag(t *testing.T) {
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
		got, err := launch.Eager(strings.Fields(command))
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("Eager(%q) = %q, %v; want %q", command, got, err, want)
		}
	}
	for _, command := range []string{"python train.py", "python serve.py --model vllm-tuned", "torchrun train.py /data/sglang.txt"} {
		if got, err := launch.Eager(strings.Fields(command)); err == nil {
			t.Errorf("Eager(%q) = %q, want an error", command, got)
		}
	}
}
