package launch

import (
	"errors"
	"slices"
	"strings"
)

// eagerFlags are the engines' flags to run without CUDA graphs and compilation.
func eagerFlags() map[string]string {
	return map[string]string{"vllm": "--enforce-eager", "sglang": "--disable-cuda-graph"}
}

// Eager is the command line of an engine, asked with a flag of its own to run eagerly.
func Eager(args []string) ([]string, error) {
	for _, word := range args {
		flag := eagerFlag(word) // of the first engine: the model may be called like the other
		if flag == "" {
			continue
		}
		if slices.Contains(args, flag) {
			return args, nil
		}
		return append(slices.Clone(args), flag), nil
	}
	return nil, errors.New("--eager: this is no command line of vLLM or SGLang, such as `vllm serve` or `python -m sglang.launch_server`: give the program its own flag")
}

// eagerFlag is the flag of the engine that the word runs; empty when it runs none.
func eagerFlag(word string) string {
	for engine, flag := range eagerFlags() {
		if isOf(word, engine) {
			return flag
		}
	}
	return ""
}

// isOf says whether a word is the engine's program, or a module of it.
func isOf(word, engine string) bool {
	program := word[strings.LastIndexByte(word, '/')+1:]
	return program == engine || strings.HasPrefix(word, engine+".")
}
