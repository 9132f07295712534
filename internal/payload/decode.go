package payload

import (
	"encoding/binary"
	"math"

	"github.com/tensortap/tensortap/internal/torchfile"
)

// decoder turns the bytes of elements into as many numbers.
type decoder func(to []float64, raw []byte)

// partsOf is the count of numbers in an element.
func partsOf(d torchfile.Dtype) int64 {
	if d == torchfile.Complex64 || d == torchfile.Complex128 {
		return 2
	}
	return 1
}

// single says whether a type's values are computed with in single precision.
func single(d torchfile.Dtype) bool {
	switch d {
	case torchfile.Float16, torchfile.BFloat16, torchfile.Float32, torchfile.Float8E4M3FN,
		torchfile.Float8E4M3FNUZ, torchfile.Float8E5M2, torchfile.Float8E5M2FNUZ:
		return true
	default:
		return false
	}
}

func decoderOf(d torchfile.Dtype) decoder {
	switch d {
	case torchfile.Bool:
		return decodeBool
	case torchfile.Uint8, torchfile.Int8:
		return decodeTable(byteTable(d == torchfile.Int8))
	case torchfile.Uint16, torchfile.Int16:
		return decodeShort(d == torchfile.Int16)
	case torchfile.Uint32, torchfile.Int32:
		return decodeInt(d == torchfile.Int32)
	case torchfile.Uint64, torchfile.Int64:
		return decodeLong(d == torchfile.Int64)
	case torchfile.Float16:
		return decodeHalf
	case torchfile.BFloat16:
		return decodeBFloat
	case torchfile.Float32, torchfile.Complex64:
		return decodeFloat
	case torchfile.Float64, torchfile.Complex128:
		return decodeDouble
	default:
		return decodeTable(float8Table(d))
	}
}

func decodeBool(to []float64, raw []byte) {
	for i, b := range raw[:len(to)] {
		to[i] = float64(ones(b != 0))
	}
}

func decodeTable(table [256]float64) decoder {
	return func(to []float64, raw []byte) {
		for i, b := range raw[:len(to)] {
			to[i] = table[b]
		}
	}
}

func decodeShort(signed bool) decoder { //nolint:revive // a property of the type
	return func(to []float64, raw []byte) {
		for i := range to {
			n := binary.LittleEndian.Uint16(raw[2*i:])
			to[i] = float64(n)
			if signed {
				to[i] = float64(int16(n)) //nolint:gosec // these are its bits
			}
		}
	}
}

func decodeInt(signed bool) decoder { //nolint:revive // a property of the type
	return func(to []float64, raw []byte) {
		for i := range to {
			n := binary.LittleEndian.Uint32(raw[4*i:])
			to[i] = float64(n)
			if signed {
				to[i] = float64(int32(n)) //nolint:gosec // these are its bits
			}
		}
	}
}

func decodeLong(signed bool) decoder { //nolint:revive // a property of the type
	return func(to []float64, raw []byte) {
		for i := range to {
			n := binary.LittleEndian.Uint64(raw[8*i:])
			to[i] = float64(n)
			if signed {
				to[i] = float64(int64(n)) //nolint:gosec // these are its bits
			}
		}
	}
}

func decodeFloat(to []float64, raw []byte) {
	for i := range to {
		to[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:])))
	}
}

func decodeDouble(to []float64, raw []byte) {
	for i := range to {
		to[i] = math.Float64frombits(binary.LittleEndian.Uint64(raw[8*i:]))
	}
}

func decodeBFloat(to []float64, raw []byte) {
	for i := range to {
		to[i] = float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(raw[2*i:])) << 16))
	}
}

func decodeHalf(to []float64, raw []byte) {
	for i := range to {
		to[i] = half(binary.LittleEndian.Uint16(raw[2*i:]))
	}
}

// half is the number that 16 bits are: sign, 5 bits of exponent, 10 of fraction.
func half(bits uint16) float64 {
	const bias, doubleBias = 15, 1023
	sign, exponent, fraction := uint64(bits>>15)<<63, uint64(bits>>10&31), uint64(bits&1023)
	switch exponent {
	case 0:
		return math.Copysign(float64(fraction)*0x1p-24, math.Float64frombits(sign))
	case 31:
		return math.Float64frombits(sign | 0x7ff<<52 | fraction<<42)
	}
	return math.Float64frombits(sign | (exponent-bias+doubleBias)<<52 | fraction<<42)
}

func byteTable(signed bool) (table [256]float64) { //nolint:revive // a property of the type
	for i := range table {
		table[i] = float64(i)
		if signed {
			table[i] = float64(int8(i)) //nolint:gosec // these are its bits
		}
	}
	return table
}

// float8 is a format of eight bits: sign, exponent, fraction.
type float8 struct {
	fractionBits int
	bias         int
	unsignedZero bool // the bits of -0 are the only NaN, and nothing is infinite
	infinite     bool // the greatest exponent is infinity and NaN
}

func float8Of(d torchfile.Dtype) float8 {
	switch d {
	case torchfile.Float8E4M3FN:
		return float8{fractionBits: 3, bias: 7}
	case torchfile.Float8E4M3FNUZ:
		return float8{fractionBits: 3, bias: 8, unsignedZero: true}
	case torchfile.Float8E5M2FNUZ:
		return float8{fractionBits: 2, bias: 16, unsignedZero: true}
	default:
		return float8{fractionBits: 2, bias: 15, infinite: true}
	}
}

func float8Table(d torchfile.Dtype) (table [256]float64) {
	format := float8Of(d)
	for i := range table {
		table[i] = format.value(i)
	}
	return table
}

func (f float8) value(bits int) float64 {
	magnitude := bits & 127
	sign := 1 - 2*float64(bits>>7)
	exponent, fraction := magnitude>>f.fractionBits, magnitude&(1<<f.fractionBits-1)
	switch {
	case f.unsignedZero && bits == 128, f.infinite && exponent == 31 && fraction != 0,
		!f.unsignedZero && !f.infinite && magnitude == 127:
		return math.NaN()
	case f.infinite && exponent == 31:
		return math.Inf(int(sign))
	case exponent == 0:
		exponent = 1
	default:
		fraction += 1 << f.fractionBits
	}
	return math.Copysign(math.Ldexp(float64(fraction), exponent-f.bias-f.fractionBits), sign)
}
