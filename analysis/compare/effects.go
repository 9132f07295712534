package compare

import "regexp"

// effects are the properties that bear on numbers, the surest first. The report run_differences has the same texts, whose
// alphabetical order is that of their weight.
//
//nolint:gochecknoglobals // compiled once
var effects = []struct {
	name     string
	property *regexp.Regexp
}{
	{"changes numbers", regexp.MustCompile(`^(model|framework_version|engine|engine_version|world_size|dtype|tensor dtype|seed|commit|parameter .*` +
		`|config (optimizer.*|deterministic algorithms|cudnn.*|float32 matmul precision|tf32 .*|reduced precision .*|gpu|gpu driver|cuda|hip|nccl|cpu|code|torch threads)` +
		`|config package (torch|triton|vllm|sglang|transformers|numpy|flash-attn|flashinfer.*|xformers|transformer-engine.*|megatron.*|deepspeed|apex|accelerate|nvidia-.*))$`)},
	{"may change numbers", regexp.MustCompile(`^(framework|config|label .*|config (command line|python|env .*|package .*|sglang .*|vllm .*))$`)},
	{"not known to change numbers", regexp.MustCompile("")},
}

func effectOf(property string) string {
	for _, e := range effects {
		if e.property.MatchString(property) {
			return e.name
		}
	}
	return ""
}
