package elements

import (
	"math/rand/v2"
	"slices"
)

// sampled elements are kept, each with the same chance.
const sampled = 1024

// sample is some of the elements that differ; of the same tensors it is always the same.
type sample struct {
	kept []sampledPair
	seen int64
	dice *rand.Rand
}

type sampledPair struct {
	number int64
	x, y   []float64 // parts of both
}

func newSample() sample { return sample{dice: dice()} }

func dice() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) } //nolint:gosec // chance for statistics

func (s *sample) add(number int64, x, y []float64) {
	s.seen++
	at := int64(len(s.kept))
	if at == sampled {
		if at = s.dice.Int64N(s.seen); at >= sampled {
			return
		}
		s.kept[at] = sampledPair{number, slices.Clone(x), slices.Clone(y)}
		return
	}
	s.kept = append(s.kept, sampledPair{number, slices.Clone(x), slices.Clone(y)})
}
