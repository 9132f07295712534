package align

// context chooses the op of its own program under which an op is aligned.
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

// pairCalls aligns calls other than modules inside pairs of that context.
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

// inside is a pair of parents and a phase: its ops are aligned together. Backward ops come in an order of their
// own.
type inside struct {
	parent int32 // in the problem; none for what has none
	phase  string
}

// pairSequences aligns the wanted ops inside every pair, and says whether a parent found its partner.
func (m *matcher) pairSequences(in context, wanted func(*Op) bool) bool {
	parents := false
	for _, g := range m.contexts(in, wanted) {
		parents = m.pairSequence(g) || parents
	}
	return parents
}

// contexts gathers the ops by the pair around them, where both programs have wanted ops without a
// partner. Ops with partners come with them, since they hold the order of the others.
func (m *matcher) contexts(in context, wanted func(*Op) bool) []*group {
	problem, bench := in(&m.problem), m.translated(in(&m.bench))
	groups := map[inside]*group{}
	m.problem.eachFree(problem, wanted, func(at inside) { groups[at] = nil })
	if len(groups) == 0 {
		return nil
	}
	var open []*group
	m.bench.eachFree(bench, wanted, func(at inside) {
		if g, ok := groups[at]; ok && g == nil {
			groups[at] = &group{}
			open = append(open, groups[at])
		}
	})
	m.problem.gather(problem, groups, wanted, func(g *group, p int32) { g.problem = append(g.problem, p) })
	m.bench.gather(bench, groups, wanted, func(g *group, b int32) { g.bench = append(g.bench, b) })
	return open
}

// nowhere stands for a parent without partner.
const nowhere = -2

// translated is the bench's parents as the problem numbers them.
func (m *matcher) translated(above []int32) []int32 {
	list := make([]int32, len(above))
	for b, up := range above {
		list[b] = up
		if up != none {
			if list[b] = m.bench.partner[up]; list[b] == none {
				list[b] = nowhere
			}
		}
	}
	return list
}

func (s *side) eachFree(above []int32, wanted func(*Op) bool, call func(inside)) {
	for i := range s.ops {
		if above[i] != nowhere && wanted(&s.ops[i]) && s.free(int32(i)) { //nolint:gosec // an index
			call(inside{above[i], s.ops[i].Phase})
		}
	}
}

func (s *side) gather(above []int32, groups map[inside]*group, wanted func(*Op) bool, add func(*group, int32)) {
	for i := range s.ops {
		if g := groups[inside{above[i], s.ops[i].Phase}]; g != nil && s.takesPart(i, wanted) {
			add(g, int32(i)) //nolint:gosec // an index
		}
	}
}

// takesPart says whether the op holds the order or may find a partner.
func (s *side) takesPart(i int, wanted func(*Op) bool) bool {
	if s.partner[i] != none {
		return true
	}
	return wanted(&s.ops[i]) && s.free(int32(i)) //nolint:gosec // an index
}

// pairSequence aligns the ops inside a pair, and says whether a parent found its partner.
func (m *matcher) pairSequence(g *group) bool {
	parents := false
	for i, j := range m.aligned(g) {
		if j == none || m.problem.partner[g.problem[i]] != none {
			continue
		}
		p, b := g.problem[i], g.bench[j]
		m.pair(p, b)
		parents = parents || m.problem.parents[p] || m.bench.parents[b]
	}
	return parents
}
