package elements

import "math"

// Kind is a way of being not finite.
type Kind int

// The ways of being not finite.
const (
	NaN Kind = iota
	PositiveInfinity
	NegativeInfinity
	Kinds // how many there are
)

// String is the kind's name.
func (k Kind) String() string { return [...]string{"NaN", "+Inf", "-Inf", ""}[k] }

// kindOf is the kind of a number; Kinds where it is finite.
func kindOf(value float64) Kind {
	switch {
	case value-value == 0:
		return Kinds
	case math.IsNaN(value):
		return NaN
	case value > 0:
		return PositiveInfinity
	default:
		return NegativeInfinity
	}
}

// Places are where elements of one kind are.
type Places struct {
	Count uint64
	First [][]int64 // the first ones by index, Shown at most
}

func (p *Places) add(shape []int64, number int64) {
	if p.Count++; len(p.First) < Shown {
		p.First = append(p.First, indexOf(shape, number))
	}
}
