package launch

import (
	"slices"
	"strings"
)

// eagerFlags are the engines' flags to run without CUDA graphs and compilation.
func eagerFlags() map[string]string {
	return map[string]string{"vllm": "--enforce-eager", "sglang": "--disable-cuda-graph"}
}

// Eager is the command line of a program that is to run eagerly, and the variables for it: an engine is asked with a flag of
// its own, any other program's torch.compile is turned off.
func Eager(args []string) (command, variables []string) {
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
	return args, []string{"TORCHDYNAMO_DISABLE=1"}
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
