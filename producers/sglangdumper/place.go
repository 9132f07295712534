package sglangdumper

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tensortap/tensortap/schemas"
)

// Prefixes that the dumper itself puts before names of values.
const (
	hookedPrefix    = "non_intrusive__"
	gradientPrefix  = "grad__"
	parameterPrefix = "param__"
)

// Roles of a tensor in its op.
const (
	roleInput     = "input"
	roleOutput    = "output"
	roleParameter = "parameter"
)

// place is a value's place in a step, by its name: an argument or result of a module, or saved by name.
type place struct {
	hooked     bool
	op         string // without the number of the call
	modulePath string
	layer      int32
	phase      string
	role, path string
}

// placeOf reads the name of a value.
func placeOf(f *file) place {
	name, isGradient := strings.CutPrefix(f.value, gradientPrefix)
	rest, hooked := strings.CutPrefix(name, hookedPrefix)
	module, role, path, ok := cutRole(rest)
	if !hooked || !ok {
		return savedPlace(f, name)
	}
	p := place{hooked: true, modulePath: module, phase: schemas.PhaseForward, role: role, path: path, layer: -1}
	switch {
	case isGradient:
		p.phase, p.role = schemas.PhaseBackward, opposite(role)
	case f.recompute:
		p.phase = schemas.PhaseRecompute
	}
	p.op = "Module." + dotted(module) + className + "." + written(p.phase)
	return p
}

// className stands for the class of a module, which the dumper does not record.
const className = "Module"

// written is the phase in the name of an op.
func written(phase string) string {
	if phase == schemas.PhaseRecompute {
		return schemas.PhaseForward
	}
	return phase
}

// opposite is the role in the backward, whose inputs are gradients of outputs, and whose outputs are
// gradients of inputs.
func opposite(role string) string {
	if role == roleInput {
		return roleOutput
	}
	return roleInput
}

// cutRole splits model.norm.inputs.0 at its last word inputs or output.
func cutRole(name string) (module, role, path string, ok bool) {
	words := strings.Split(name, ".")
	for i, word := range slices.Backward(words) {
		switch word {
		case "inputs":
			role = roleInput
		case "output":
			role = roleOutput
		default:
			continue
		}
		return strings.Join(words[:i], "."), role, strings.Join(words[i+1:], "."), true
	}
	return "", "", "", false
}

// savedPlace is the place of a value that a user has named. The path is its name, by which ids of requests are
// known.
func savedPlace(f *file, name string) place {
	p := place{layer: f.layer, phase: schemas.PhaseNone, role: roleOutput, path: name, op: name}
	if parameter, ok := strings.CutPrefix(name, parameterPrefix); ok {
		p.role, p.path = roleParameter, parameter
	}
	if f.layer >= 0 {
		p.op = fmt.Sprintf("layers.%d.%s", f.layer, p.op)
	}
	if f.tags != "" {
		p.op += "[" + f.tags + "]"
	}
	if name != f.value {
		p.phase = schemas.PhaseGradient
		p.op += "_grad"
	}
	return p
}

func dotted(path string) string {
	if path == "" {
		return ""
	}
	return path + "."
}
