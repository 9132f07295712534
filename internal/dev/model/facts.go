package model

import "math/bits"

// fact is what is measured once: the content of a step, as it is of one generation. Its rows make one message.
type fact uint8

const (
	contents    = 2
	generations = 4
	facts       = 2 * contents * generations
	retold      = fact(facts) // the first fact, under a second identity
)

func factOf(step, content, generation uint8) fact {
	return fact((step*contents+content)*generations + generation)
}

// set is a set of facts, or of places in the stream.
type set uint32

func one(i uint8) set { return 1 << i }

func (s set) has(i uint8) bool { return s&one(i) != 0 }

func (s set) each(visit func(i uint8)) {
	for ; s != 0; s &= s - 1 {
		visit(uint8(bits.TrailingZeros32(uint32(s)))) //nolint:gosec // 32 at most
	}
}

// identity is the fact that a message is taken for by those who know it by its identity.
func (d Delivery) identity(f fact) fact {
	if f == retold {
		return retold
	}
	step, content, generation := uint8(f)/generations/contents, uint8(f)/generations%contents, uint8(f)%generations
	if d.Without == StepInIdentity {
		step = 0
	}
	if d.Without == GenerationInIdentity {
		generation = 0
	}
	return factOf(step, content, generation)
}

// identities are those of all facts of a set.
func (d Delivery) identities(s set) (all set) {
	s.each(func(i uint8) { all |= one(uint8(d.identity(fact(i)))) })
	return all
}
