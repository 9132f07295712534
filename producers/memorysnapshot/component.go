package memorysnapshot

import (
	"regexp"
	"slices"
)

// rule says which component a stack belongs to that has such a frame.
type rule struct {
	component string
	frames    *regexp.Regexp
}

// rules are asked in their order, each of all frames.
//
//nolint:gochecknoglobals // never changed
var rules = []rule{
	{"graphs", regexp.MustCompile(`(?i)cuda_?graph|in capture|graph_pool|, in replay$`)},
	{"communication", regexp.MustCompile(`(?i)nccl|torch/distributed/|process_group|custom_all_reduce|symm_mem|deep_?ep`)},
	{"kv", regexp.MustCompile(`(?i)kv_?cache|token_to_kv|memory_pool|cache_engine|mamba_?cache`)},
	{"weights", regexp.MustCompile(`(?i)load_weights|load_model|weight_loader|model_loader|reset_parameters|create_weights|_load_from_state_dict|in from_pretrained|, in __init__$`)},
	{"activations", regexp.MustCompile(`(?i), in forward|, in backward$|torch/autograd/|functional\.py`)},
}

// component is what the memory of a stack is for, as far as its frames tell.
func component(frames []string) string {
	if len(frames) == 0 {
		return ""
	}
	for _, r := range rules {
		if slices.ContainsFunc(frames, r.frames.MatchString) {
			return r.component
		}
	}
	return "other"
}
