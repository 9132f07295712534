package main

import (
	"strings"
	"testing"
)

// TestListsOfPluginsAreReadAsEnginesReadThem has the results of each engine's own code for its
// variable.
func TestListsOfPluginsAreReadAsEnginesReadThem(t *testing.T) {
	t.Parallel()
	for variable, want := range map[string]bool{
		"VLLM_PLUGINS=":                    true,
		"VLLM_PLUGINS=lora":                true,
		"VLLM_PLUGINS=lora, tensortap":     true,
		"VLLM_PLUGINS=lora,tensortap":      false,
		"SGLANG_PLUGINS=":                  false,
		"SGLANG_PLUGINS=lora":              true,
		"SGLANG_PLUGINS= , ":               true,
		"SGLANG_PLUGINS=lora tensortap":    true,
		"SGLANG_PLUGINS=lora , tensortap ": false,
		"OTHER_PLUGINS=lora":               false,
	} {
		name, list, _ := strings.Cut(variable, "=")
		if got := leavesOut(name, list); got != want {
			t.Errorf("%q leaves out: %v, want %v", variable, got, want)
		}
	}
}
