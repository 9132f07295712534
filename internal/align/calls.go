package align

// context says under which op of its own program an op is aligned.
type context func(s *side) []int32

// direct aligns an op among those of its own parent.
func direct(s *side) []int32 { return s.parent }

// nearest aligns an op among those of the nearest op above that has a partner.
func nearest(s *side) []int32 {
	above := make([]int32, len(s.ops))
	known := make([]bool, len(s.ops))
	var path []int32
	for i := range s.ops {
		path = path[:0]
		at := int32(i) //nolint:gosec // an index
		for !known[at] {
			path = append(path, at)
			up := s.parent[at]
			if up == none || s.partner[up] != none {
				above[at], known[at] = up, true
				break
			}
			at = up
		}
		for _, below := range path {
			above[below], known[below] = above[at], true
		}
	}
	return above
}

// generations bounds how often calls are aligned anew since their parent, itself no module, found its partner.
const generations = 16

// pairCalls aligns what is no module inside pairs of that context.
func (m *matcher) pairCalls(in context) {
	noModule := func(op *Op) bool { return op.Level != levelModule }
	for range generations {
		parents := m.pairSequences(in, func(op *Op) bool { return noModule(op) && op.Phase != phaseBackward })
		parents = m.pairBackward(noModule) || parents
		parents = m.pairSequences(in, func(op *Op) bool { return noModule(op) && op.Phase == phaseBackward }) || parents
		if !parents {
			return
		}
	}
}

// pairModulesBySequence pairs modules that have no namesake, inside pairs, and says whether it found any.
func (m *matcher) pairModulesBySequence() bool {
	forward := m.pairSequences(nearest, func(op *Op) bool { return op.Level == levelModule && op.Phase != phaseBackward })
	backward := m.pairBackward(func(op *Op) bool { return op.Level == levelModule })
	rest := m.pairSequences(nearest, func(op *Op) bool { return op.Level == levelModule && op.Phase == phaseBackward })
	return forward || backward || rest
}

// pairBackward pairs backward ops as their forward ops are, and says whether a parent was among them.
func (m *matcher) pairBackward(wanted func(*Op) bool) bool {
	parents := false
	for i, f := range m.problem.forward {
		p := int32(i) //nolint:gosec // an index
		if f == none || m.problem.partner[f] == none || m.problem.partner[p] != none || !wanted(&m.problem.ops[p]) {
			continue
		}
		b, ok := m.calls[callOf(&m.bench.ops[m.problem.partner[f]])]
		if ok && m.bench.partner[b] == none && m.bench.ops[b].Level == m.problem.ops[p].Level {
			m.pair(p, b)
			parents = parents || m.problem.parents[p] || m.bench.parents[b]
		}
	}
	return parents
}

// inside is a pair of parents and a phase: what is aligned together. Backward ops come in an order of their own.
type inside struct {
	parent int32 // in the problem; none for what has none
	phase  string
}

// pairSequences aligns the wanted ops inside every pair, and says whether a parent found its partner.
func (m *matcher) pairSequences(in context, wanted func(*Op) bool) bool {
	order, groups := m.contexts(in, wanted)
	parents := false
	for _, at := range order {
		g := groups[at]
		if len(g.problem) > 0 && len(g.bench) > 0 {
			parents = m.pairSequence(g) || parents
		}
	}
	return parents
}

// contexts gathers the ops by the pair that they stand in. Those that have partners
// are gathered too, since they hold the order of the others.
func (m *matcher) contexts(in context, wanted func(*Op) bool) ([]inside, map[inside]*group) {
	var order []inside
	groups := map[inside]*group{}
	for p, above := range in(&m.problem) {
		op := &m.problem.ops[p]
		if above != none && m.problem.partner[above] == none {
			continue
		}
		at := inside{above, op.Phase}
		if groups[at] == nil {
			groups[at] = &group{}
			order = append(order, at)
		}
		if m.problem.takesPart(p, wanted) {
			groups[at].problem = append(groups[at].problem, int32(p)) //nolint:gosec // an index
		}
	}
	for b, above := range in(&m.bench) {
		op := &m.bench.ops[b]
		if above != none {
			if above = m.bench.partner[above]; above == none {
				continue
			}
		}
		if g := groups[inside{above, op.Phase}]; g != nil && m.bench.takesPart(b, wanted) {
			g.bench = append(g.bench, int32(b)) //nolint:gosec // an index
		}
	}
	return order, groups
}

// takesPart says whether the op holds the order or may find a partner.
func (s *side) takesPart(i int, wanted func(*Op) bool) bool {
	if s.partner[i] != none {
		return true
	}
	return wanted(&s.ops[i]) && s.free(int32(i)) //nolint:gosec // an index
}

// pairSequence pairs by the longest common subsequence. What has a partner already
// is equal to that alone, and left out if that stands elsewhere.
func (m *matcher) pairSequence(g *group) bool {
	problem, bench := m.tokens(g)
	matched := commonSubsequence(problem, bench)
	settle(problem, bench, matched, func(i, j int32) bool {
		return m.problem.ops[g.problem[i]].ID == m.bench.ops[g.bench[j]].ID
	})
	parents := false
	for i, j := range matched {
		if j == none || m.problem.partner[g.problem[i]] != none {
			continue
		}
		p, b := g.problem[i], g.bench[j]
		m.pair(p, b)
		parents = parents || m.problem.parents[p] || m.bench.parents[b]
	}
	return parents
}

// tokens are the keys of ops without a partner, and beyond all keys the pairs.
func (m *matcher) tokens(g *group) (problem, bench []uint32) {
	pairs := uint32(len(m.keys)) + 1 //nolint:gosec // fewer than the ops
	problem, bench = make([]uint32, len(g.problem)), make([]uint32, len(g.bench))
	for i, p := range g.problem {
		problem[i] = m.problem.key[p]
		if m.problem.partner[p] != none {
			problem[i] = pairs + uint32(p) //nolint:gosec // an index
		}
	}
	for j, b := range g.bench {
		bench[j] = m.bench.key[b]
		if p := m.bench.partner[b]; p != none {
			bench[j] = pairs + uint32(p) //nolint:gosec // an index
		}
	}
	return problem, bench
}
