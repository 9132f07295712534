package schemas

import (
	"strconv"
	"strings"
)

// Levels of op.level.
const (
	LevelModule     = "module"
	LevelAPI        = "api"
	LevelAten       = "aten"
	LevelCollective = "collective"
	LevelOptimizer  = "optimizer"
	LevelOther      = "other"
)

// Phases of op.phase.
const (
	PhaseForward   = "forward"
	PhaseBackward  = "backward"
	PhaseRecompute = "recompute"
	PhaseGradient  = "gradient"
	PhaseOptimizer = "optimizer"
	PhaseNone      = "none"
)

// OptimizerName is the name of the op within which the calls of an optimizer stand.
const OptimizerName = "optimizer"

// OfOptimizer says whether an op is an optimizer's.
func OfOptimizer(op *OpRow) bool {
	return op.Level == LevelOptimizer || op.Phase == PhaseOptimizer || op.Name == OptimizerName
}

const gradientWord = "parameters_grad"

// lossPrefix begins the name of an op that holds the tensors from which a backward pass begins, as Loss.0.debug. msProbe
// names saved variables so.
const lossPrefix = "Loss."

// savedSuffix ends the names of variables that were saved.
const savedSuffix = ".debug"

// NamesALoss says whether an op is what a backward pass began from.
func NamesALoss(name string) bool {
	return strings.HasPrefix(name, lossPrefix) && strings.HasSuffix(name, savedSuffix)
}

// NamesSettings says whether an op has the settings of an optimizer, as Optimizer.SGD.settings.0.
func NamesSettings(name string) bool {
	rest, call := cutCall(name)
	return call >= 0 && strings.HasPrefix(rest, "Optimizer.") && strings.HasSuffix(rest, ".settings")
}

// ComputesNothing says whether an op is none that the program ran, but something of it that was written down: a
// variable that was saved, a loss, settings of an optimizer.
func ComputesNothing(name string) bool {
	return strings.HasSuffix(name, savedSuffix) || NamesSettings(name)
}

// NamesAnOp says whether the name follows one of msProbe's patterns.
func NamesAnOp(name string) bool {
	n := ParseOpName(name)
	return n.Phase != PhaseNone || n.CallIndex >= 0
}

// ParseOpName is the row of the op of that full name. A name of no known pattern is an op of level other; every name
// has a row.
func ParseOpName(name string) OpRow {
	prefix, _, _ := strings.Cut(name, ".")
	r := OpRow{OpID: OpID(name), Name: name, Level: LevelOther, LayerIndex: -1, ClassOrAPI: name, CallIndex: -1, Phase: PhaseNone}
	level := prefixLevel(prefix)
	switch {
	case level == LevelModule && r.module(prefix):
	case level == LevelOptimizer:
		r.Level, r.Prefix, r.Phase = LevelOptimizer, prefix, PhaseOptimizer
		r.ClassOrAPI, r.CallIndex = cutCall(strings.TrimPrefix(strings.TrimPrefix(name, prefix), "."))
		r.ClassOrAPI = orText(r.ClassOrAPI, prefix)
	case strings.HasSuffix(name, savedSuffix):
		r.saved(strings.TrimSuffix(name, savedSuffix))
	default:
		r.api(prefix, level)
	}
	return r
}

func prefixLevel(prefix string) string {
	switch prefix {
	case "Module", "Cell":
		return LevelModule
	case "Aten":
		return LevelAten
	case "Distributed", "MintDistributed":
		return LevelCollective
	case "Optimizer", "clip_grad":
		return LevelOptimizer
	case "Tensor", "Torch", "Functional", "NPU", "VF", "MindSpeed", "Triton", "Mint", "MintFunctional", "Primitive",
		"Jit", "Jit/Cell":
		return LevelAPI
	}
	return LevelOther
}

// module reads Prefix.path.Class.phase.call, where the call stands last and parameters_grad may lack it.
func (r *OpRow) module(prefix string) bool {
	rest, call := cutCall(r.Name[len(prefix):])
	rest, word := cutLast(rest)
	phase := phaseOf(word)
	if phase == PhaseNone {
		return false
	}
	path, class := cutLast(strings.TrimPrefix(rest, "."))
	r.Level, r.Prefix, r.ModulePath, r.LayerIndex = LevelModule, prefix, path, layerIndex(path)
	r.ClassOrAPI, r.CallIndex, r.Phase = class, call, phase
	return true
}

// api reads Prefix.api.call.phase and, of graph dumps, module.phase without prefix and call.
func (r *OpRow) api(prefix, level string) {
	rest, word := cutLast(r.Name)
	r.Phase = phaseOf(word)
	if r.Phase == PhaseNone {
		rest = r.Name
	}
	if r.Phase == PhaseNone && level == LevelOther {
		return
	}
	api, call := cutCall(rest)
	if level == LevelOther && (call < 0 || numbersLayers(api)) {
		r.Level, r.ModulePath, r.LayerIndex, r.ClassOrAPI = LevelModule, rest, layerIndex(rest), ""
		return
	}
	r.CallIndex, r.Level = call, orText(level, LevelAPI)
	if level == LevelOther {
		r.Level = LevelAPI // a prefix that the user registered
	}
	if trimmed, found := strings.CutPrefix(api, prefix+"."); found {
		r.Prefix, r.ClassOrAPI = prefix, trimmed
		return
	}
	r.ClassOrAPI = api
}

// saved reads a name of PrecisionDebugger.save: name[_grad].count.
func (r *OpRow) saved(name string) {
	r.ClassOrAPI, r.CallIndex = cutCall(name)
	if strings.HasSuffix(r.ClassOrAPI, "_grad") {
		r.Phase = PhaseGradient
	}
}

func phaseOf(word string) string {
	switch word {
	case PhaseForward, PhaseBackward:
		return word
	case gradientWord:
		return PhaseGradient
	}
	return PhaseNone
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

// layerIndex is the number after layers, layer, h or blocks in a dotted path, or the number in a part such as
// layer3.
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

// numbersLayers says whether the children of a path's last part are numbered layers.
func numbersLayers(path string) bool {
	_, last := cutLast(path)
	switch last {
	case "layers", "layer", "h", "blocks", "block":
		return true
	}
	return false
}
