package align

import "slices"

// exact is equal for two ops that did the same with the same: a call of one API, with arguments of equal
// shapes and literals.
type exact struct {
	key       uint32
	signature uint64
}

// For calls of one API, a pair with equal arguments counts for as much as exactWorth pairs without. Without a
// limit a few calls of equal arguments could pull apart all the others.
const exactWorth = 3

// sign numbers the keys together with the signatures.
func (s *side) sign(numbers map[exact]uint32) {
	s.exact = make([]uint32, len(s.ops))
	for i := range s.ops {
		e := exact{s.key[i], s.ops[i].Signature}
		n, ok := numbers[e]
		if !ok {
			n = uint32(len(numbers)) + 1 //nolint:gosec // fewer than the ops
			numbers[e] = n
		}
		s.exact[i] = n
	}
}

func signed(ops []Op) bool {
	return slices.ContainsFunc(ops, func(op Op) bool { return op.Signature != 0 })
}

// aligned gives, for each of the problem's ops, the position of the bench's. It aligns calls with equal arguments
// first, and the calls between them by API; unless that leaves too many alone that have a partner when arguments are
// ignored.
func (m *matcher) aligned(g *group) []int32 {
	problem, bench := m.tokens(g, func(s *side) []uint32 { return s.key })
	anchored := m.anchored(g, problem, bench)
	if !m.signed || found(anchored) == min(len(problem), len(bench)) {
		return anchored
	}
	called := commonSubsequence(problem, bench)
	settle(problem, bench, called, m.likeness(g))
	if m.worth(g, called) > m.worth(g, anchored) {
		return called
	}
	return anchored
}

// anchored aligns by keys and signatures, and then by keys between the matches.
func (m *matcher) anchored(g *group, problem, bench []uint32) []int32 {
	p, b := m.tokens(g, func(s *side) []uint32 { return s.exact })
	matched := commonSubsequence(p, b)
	settle(p, b, matched, m.likeness(g))
	eachGap(matched, len(bench), func(p, b span) {
		if p.from == p.to || b.from == b.to {
			return
		}
		for i, j := range commonSubsequence(problem[p.from:p.to], bench[b.from:b.to]) {
			if j != none {
				matched[p.from+i] = int32(b.from) + j //nolint:gosec // an index
			}
		}
	})
	settle(problem, bench, matched, m.likeness(g))
	return matched
}

// tokens are the numbers of ops without a partner, and beyond all of them the pairs: an op with a
// partner equals that partner alone, and is left out if the partner stands elsewhere.
func (m *matcher) tokens(g *group, of func(*side) []uint32) (problem, bench []uint32) {
	pairs := uint32(max(len(m.keys), len(m.exact))) + 1 //nolint:gosec // fewer than the ops
	problem, bench = pick(of(&m.problem), g.problem), pick(of(&m.bench), g.bench)
	for i, p := range g.problem {
		if m.problem.partner[p] != none {
			problem[i] = pairs + uint32(p) //nolint:gosec // an index
		}
	}
	for j, b := range g.bench {
		if p := m.bench.partner[b]; p != none {
			bench[j] = pairs + uint32(p) //nolint:gosec // an index
		}
	}
	return problem, bench
}

// likeness says how much two ops of a group have in common beyond their key.
func (m *matcher) likeness(g *group) likeness {
	return func(i, j int32) int {
		p, b := g.problem[i], g.bench[j]
		like := 0
		if m.problem.exact[p] == m.bench.exact[b] {
			like += likeExact
		}
		if m.problem.ops[p].ID == m.bench.ops[b].ID {
			like += likeID
		}
		return like
	}
}

// worth is the quality of an alignment.
func (m *matcher) worth(g *group, matched []int32) int {
	worth := found(matched)
	for i, j := range matched {
		if j != none && m.problem.exact[g.problem[i]] == m.bench.exact[g.bench[j]] {
			worth += exactWorth
		}
	}
	return worth
}

func found(matched []int32) int {
	n := 0
	for _, j := range matched {
		if j != none {
			n++
		}
	}
	return n
}
