package msprobe

import (
	"strconv"
	"strings"
)

// opName is what an op's full name says.
type opName struct {
	level      string
	prefix     string
	modulePath string
	layer      int32
	class      string // of a module, or name of the API
	call       int64
	phase      string
}

const (
	levelModule     = "module"
	levelAPI        = "api"
	levelAten       = "aten"
	levelCollective = "collective"
	levelOptimizer  = "optimizer"
	levelOther      = "other"

	phaseForward   = "forward"
	phaseBackward  = "backward"
	phaseRecompute = "recompute"
	phaseGradient  = "gradient"
	phaseOptimizer = "optimizer"
	phaseNone      = "none"

	gradientWord = "parameters_grad"
)

// namesAnOp tells whether the name follows one of msProbe's patterns.
func namesAnOp(name string) bool {
	n := parseName(name)
	return n.phase != phaseNone || n.call >= 0
}

// parseName splits a full op name. A name of no known pattern is an op of level other; every name has a result.
func parseName(name string) opName {
	prefix, _, _ := strings.Cut(name, ".")
	n := opName{level: levelOther, layer: -1, class: name, call: -1, phase: phaseNone}
	level := prefixLevel(prefix)
	switch {
	case level == levelModule && n.module(prefix, name):
	case level == levelOptimizer:
		n.level, n.prefix, n.phase = levelOptimizer, prefix, phaseOptimizer
		n.class, n.call = cutCall(strings.TrimPrefix(strings.TrimPrefix(name, prefix), "."))
		n.class = orText(n.class, prefix)
	case strings.HasSuffix(name, ".debug"):
		n.saved(strings.TrimSuffix(name, ".debug"))
	default:
		n.api(prefix, level, name)
	}
	return n
}

func prefixLevel(prefix string) string {
	switch prefix {
	case "Module", "Cell":
		return levelModule
	case "Aten":
		return levelAten
	case "Distributed", "MintDistributed":
		return levelCollective
	case "Optimizer", "clip_grad":
		return levelOptimizer
	case "Tensor", "Torch", "Functional", "NPU", "VF", "MindSpeed", "Triton", "Mint", "MintFunctional", "Primitive",
		"Jit", "Jit/Cell":
		return levelAPI
	}
	return levelOther
}

// module reads Prefix.path.Class.phase.call, where the call stands last and parameters_grad may lack it.
func (n *opName) module(prefix, name string) bool {
	rest, call := cutCall(name[len(prefix):])
	rest, word := cutLast(rest)
	phase := phaseOf(word)
	if phase == phaseNone {
		return false
	}
	path, class := cutLast(strings.TrimPrefix(rest, "."))
	*n = opName{
		level: levelModule, prefix: prefix, modulePath: path, layer: layerIndex(path),
		class: class, call: call, phase: phase,
	}
	return true
}

// api reads Prefix.api.call.phase and, of graph dumps, module.phase without prefix and call.
func (n *opName) api(prefix, level, name string) {
	rest, word := cutLast(name)
	n.phase = phaseOf(word)
	if n.phase == phaseNone {
		rest = name
	}
	if n.phase == phaseNone && level == levelOther {
		return
	}
	api, call := cutCall(rest)
	if level == levelOther && (call < 0 || numbersLayers(api)) {
		n.level, n.modulePath, n.layer, n.class = levelModule, rest, layerIndex(rest), ""
		return
	}
	n.call, n.level = call, orText(level, levelAPI)
	if level == levelOther {
		n.level = levelAPI // a prefix that the user registered
	}
	if trimmed, found := strings.CutPrefix(api, prefix+"."); found {
		n.prefix, n.class = prefix, trimmed
		return
	}
	n.class = api
}

// saved reads what PrecisionDebugger.save wrote: name[_grad].count.
func (n *opName) saved(name string) {
	n.class, n.call = cutCall(name)
	if strings.HasSuffix(n.class, "_grad") {
		n.phase = phaseGradient
	}
}

func phaseOf(word string) string {
	switch word {
	case phaseForward, phaseBackward:
		return word
	case gradientWord:
		return phaseGradient
	}
	return phaseNone
}

// cutCall splits a trailing number off; the number is -1 when there is none.
func cutCall(name string) (rest string, call int64) {
	head, last := cutLast(name)
	call, err := strconv.ParseInt(last, 10, 64)
	if err != nil || call < 0 || last[0] == '+' {
		return name, -1
	}
	return head, call
}

func cutLast(name string) (head, last string) {
	i := strings.LastIndexByte(name, '.')
	if i < 0 {
		return "", name
	}
	return name[:i], name[i+1:]
}

func orText(text, fallback string) string {
	if text == "" {
		return fallback
	}
	return text
}

// layerIndex is the number after layers, layer, h or blocks in a dotted path, or that of a part such as layer3.
func layerIndex(path string) int32 {
	for rest := path; rest != ""; {
		var part string
		part, rest, _ = strings.Cut(rest, ".")
		digits, ok := strings.CutPrefix(part, "layer")
		if numbersLayers(part) {
			digits, _, _ = strings.Cut(rest, ".")
			ok = true
		}
		if v, err := strconv.ParseUint(digits, 10, 31); ok && err == nil {
			return int32(v)
		}
	}
	return -1
}

// numbersLayers tells whether the last part of a path is one whose children are layers, by their number.
func numbersLayers(path string) bool {
	_, last := cutLast(path)
	switch last {
	case "layers", "layer", "h", "blocks", "block":
		return true
	}
	return false
}
