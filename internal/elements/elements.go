// Package elements says what the elements of one tensor are, and how those of two differ: where, and by which rule.
//
// Tensors are read piece by piece. Memory is that of two pieces, of a number for each index of an axis (of a group of indices
// where an axis has more than a million) and of a sample: some megabytes, however large the tensors are. Package torchfile
// names the exception: of a tensor whose elements lie in another order in its file, their span is held.
package elements

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"

	"github.com/tensortap/tensortap/internal/payload"
	"github.com/tensortap/tensortap/internal/torchfile"
)

// Shown is how many elements of a kind are named by their index.
const Shown = 8

// Element is one element of a tensor.
type Element struct {
	Index []int64
	Value float64 // of a complex element its magnitude
	Text  string  // loses nothing
}

// indexOf is the index of an element by its number in row-major order.
func indexOf(shape []int64, number int64) []int64 {
	index := make([]int64, len(shape))
	for i, n := range slices.Backward(shape) {
		index[i] = number % n
		number /= n
	}
	return index
}

// valueOf is a number for an element: of a complex one its magnitude, NaN where a part is.
func valueOf(parts []float64) float64 {
	if len(parts) == 1 {
		return parts[0]
	}
	if math.IsNaN(parts[0]) || math.IsNaN(parts[1]) {
		return math.NaN()
	}
	return math.Hypot(parts[0], parts[1])
}

// textOf is an element for reading, from which nothing is lost.
func textOf(d torchfile.Dtype, raw []byte) string {
	switch d { //nolint:exhaustive // all others are float64 without loss
	case torchfile.Int64:
		return strconv.FormatInt(int64(binary.LittleEndian.Uint64(raw)), 10) //nolint:gosec // these are its bits
	case torchfile.Uint64:
		return strconv.FormatUint(binary.LittleEndian.Uint64(raw), 10)
	case torchfile.Bool:
		return strconv.FormatBool(raw[0] != 0)
	}
	parts := payload.Numbers(d, raw)
	text := number(d, parts[0])
	if len(parts) == 1 {
		return text
	}
	imaginary := number(d, parts[1])
	if imaginary[0] != '-' && imaginary[0] != '+' {
		imaginary = "+" + imaginary
	}
	return text + imaginary + "j"
}

// number has the digits that tell a value of the type from its neighbours.
func number(d torchfile.Dtype, value float64) string {
	return strconv.FormatFloat(value, 'g', -1, bitsOf(d))
}

// bitsOf is the precision in which a number of the type is whole.
func bitsOf(d torchfile.Dtype) int {
	if d == torchfile.Float64 || d == torchfile.Complex128 || roundoff(d) == 0 {
		return 64
	}
	return 32
}

// roundoff is the unit round-off of a type, 0 of whole numbers.
func roundoff(d torchfile.Dtype) float64 {
	switch d {
	case torchfile.Float64, torchfile.Complex128:
		return 0x1p-53
	case torchfile.Float32, torchfile.Complex64:
		return 0x1p-24
	case torchfile.Float16:
		return 0x1p-11
	case torchfile.BFloat16:
		return 0x1p-8
	case torchfile.Float8E4M3FN, torchfile.Float8E4M3FNUZ:
		return 0x1p-4
	case torchfile.Float8E5M2, torchfile.Float8E5M2FNUZ:
		return 0x1p-3
	default:
		return 0
	}
}

// rounding is a difference, relative to the elements, that kernels of the type make by adding in another order: long sums
// are kept in single precision or better, and short types are rounded a few times.
func rounding(d torchfile.Dtype) float64 {
	switch one := roundoff(d); {
	case one >= 0x1p-4:
		return 4 * one
	case one >= 0x1p-11:
		return 16 * one
	default:
		return 256 * one
	}
}
