package msprobedump

import (
	"math"
	"strconv"
	"strings"

	"github.com/tensortap/tensortap/analysis/msprobe/internal/pyrepr"
)

// float is repr of a Python float, with the words that its json writes.
func float(v float64) string {
	switch {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 1):
		return "Infinity"
	case math.IsInf(v, -1):
		return "-Infinity"
	}
	return pyrepr.Float(v)
}

// whole is a Python int, where the number is one.
func whole(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) || v != math.Trunc(v) {
		return float(v)
	}
	if v == 0 {
		return "0" // not -0
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}

func truth(v float64) string {
	if v != 0 {
		return "true"
	}
	return "false"
}

// family is what msProbe distinguishes of dtypes.
type family uint8

const (
	floats family = iota
	doubles
	integers
	booleans
	complexes
	narrow // eight bits and fewer, of which msProbe computes nothing
)

// familyOf reads a dtype as torch.bfloat16, or Float32 of MindSpore.
func familyOf(dtype string) family {
	name := strings.ToLower(strings.TrimPrefix(strings.TrimPrefix(dtype, "torch."), "mindspore."))
	switch {
	case strings.HasPrefix(name, "bool"):
		return booleans
	case strings.HasPrefix(name, "int"), strings.HasPrefix(name, "uint"):
		return integers
	case strings.HasPrefix(name, "complex"):
		return complexes
	case strings.HasPrefix(name, "float8"), strings.HasPrefix(name, "float4"):
		return narrow
	case name == "float64", name == "double":
		return doubles
	}
	return floats
}

// inDtype is a number as the dtype holds it: msProbe computes mean and norm in the tensor's own.
func inDtype(dtype string, v float64) float64 {
	switch strings.TrimPrefix(dtype, "torch.") {
	case "float32", "Float32", "complex64":
		return float64(float32(v))
	case "bfloat16", "BFloat16":
		return rounded(v, 8, -133, 0x1.fep127)
	case "float16", "Float16":
		return rounded(v, 11, -24, 65504)
	}
	return v
}

// rounded is the nearest number of so many bits that is a multiple of a power of two, or infinite beyond the greatest.
func rounded(v float64, bits, least int, greatest float64) float64 {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return v
	}
	_, exponent := math.Frexp(v)
	unit := math.Ldexp(1, max(exponent-bits, least))
	near := math.RoundToEven(v/unit) * unit
	if math.Abs(near) > greatest {
		return math.Copysign(math.Inf(1), v)
	}
	return near
}
