package align

import (
	"cmp"
	"slices"
)

// place is the name under which modules are found.
type place struct{ path, phase string }

// group is the calls of the modules at one place, in both programs.
type group struct{ problem, bench []int32 }

// pairModules pairs the modules by name: forward calls first, since backward ones go by them.
func (m *matcher) pairModules() {
	m.pairNamedParents()
	order, groups := m.groups()
	for _, at := range order {
		if at.phase != phaseBackward {
			m.pairGroup(groups[at])
		}
	}
	m.pairBackward(func(op *Op) bool { return op.Level == levelModule })
	for _, at := range order {
		if at.phase == phaseBackward {
			m.pairGroup(groups[at])
		}
	}
}

// pairNamedParents pairs parents that are no ops or modules, such as the optimizer.
func (m *matcher) pairNamedParents() {
	at := map[uint64]int32{}
	for b := range m.bench.ops {
		if op := &m.bench.ops[b]; op.Absent && op.Level != levelModule {
			at[op.ID] = int32(b) //nolint:gosec // an index
		}
	}
	for p := range m.problem.ops {
		op := &m.problem.ops[p]
		if b, ok := at[op.ID]; ok && op.Absent && op.Level != levelModule && m.bench.partner[b] == none {
			m.pair(int32(p), b) //nolint:gosec // an index
		}
	}
}

// groups are the modules by place, in order of their first appearance in the problem.
func (m *matcher) groups() ([]place, map[place]*group) {
	var order []place
	groups := map[place]*group{}
	for p := range m.problem.ops {
		op := &m.problem.ops[p]
		if op.Level != levelModule {
			continue
		}
		at := place{op.ModulePath, op.Phase}
		if groups[at] == nil {
			groups[at] = &group{}
			order = append(order, at)
		}
		groups[at].problem = append(groups[at].problem, int32(p)) //nolint:gosec // an index
	}
	for b := range m.bench.ops {
		op := &m.bench.ops[b]
		if g := groups[place{op.ModulePath, op.Phase}]; g != nil && op.Level == levelModule {
			g.bench = append(g.bench, int32(b)) //nolint:gosec // an index
		}
	}
	return order, groups
}

// pairGroup pairs call by call. Where the numbers of calls or their classes differ, it aligns them
// by their looks, and the rest by order.
func (m *matcher) pairGroup(g *group) {
	problem, bench := m.problem.waiting(g.problem), m.bench.waiting(g.bench)
	if m.sameClasses(problem, bench) {
		m.pairInOrder(problem, bench)
		return
	}
	looks := []func(*side, int32) uint64{
		func(s *side, i int32) uint64 { return s.shape[i] ^ s.placed(i)*0x94d049bb133111eb },
		(*side).placed,
		func(s *side, i int32) uint64 { return uint64(s.key[i]) },
	}
	m.pairAlike(problem, bench, looks)
}

// waiting are those ops that have no partner yet, by call and then position.
func (s *side) waiting(ops []int32) []int32 {
	left := slices.DeleteFunc(slices.Clone(ops), func(i int32) bool { return s.partner[i] != none })
	slices.SortStableFunc(left, func(i, j int32) int { return cmp.Compare(s.ops[i].CallIndex, s.ops[j].CallIndex) })
	return left
}

func (m *matcher) sameClasses(problem, bench []int32) bool {
	return slices.EqualFunc(problem, bench, func(p, b int32) bool {
		return m.problem.ops[p].ClassOrAPI == m.bench.ops[b].ClassOrAPI
	})
}

func (m *matcher) pairInOrder(problem, bench []int32) {
	for i := range min(len(problem), len(bench)) {
		m.pair(problem[i], bench[i])
	}
}

// placed is a module and the place of its parent.
func (s *side) placed(i int32) uint64 {
	if s.parent[i] == none {
		return uint64(s.key[i])
	}
	return uint64(s.key[i])<<32 | uint64(s.place[s.parent[i]])
}

// pairAlike aligns by the first look, and between the matches by the others.
func (m *matcher) pairAlike(problem, bench []int32, looks []func(*side, int32) uint64) {
	if len(problem) == 0 || len(bench) == 0 {
		return
	}
	if len(looks) == 0 {
		m.pairInOrder(problem, bench)
		return
	}
	numbers := map[uint64]uint32{}
	matched := commonSubsequence(m.problem.numbered(numbers, problem, looks[0]), m.bench.numbered(numbers, bench, looks[0]))
	for i, j := range matched {
		if j != none {
			m.pair(problem[i], bench[j])
		}
	}
	eachGap(matched, len(bench), func(p, b span) {
		m.pairAlike(problem[p.from:p.to], bench[b.from:b.to], looks[1:])
	})
}

// numbered numbers the looks of ops; equal looks have one number.
func (s *side) numbered(numbers map[uint64]uint32, ops []int32, look func(*side, int32) uint64) []uint32 {
	list := make([]uint32, len(ops))
	for i, op := range ops {
		seen := look(s, op)
		if numbers[seen] == 0 {
			numbers[seen] = uint32(len(numbers)) + 1 //nolint:gosec // fewer than the ops
		}
		list[i] = numbers[seen]
	}
	return list
}

// span is the positions from one up to, without, another.
type span struct{ from, to int }

// eachGap calls with the ops between two matches, before the first and behind the last.
func eachGap(matched []int32, bench int, call func(problem, bench span)) {
	var p, b int
	for i, j := range matched {
		if j == none {
			continue
		}
		call(span{p, i}, span{b, int(j)})
		p, b = i+1, int(j)+1
	}
	call(span{p, len(matched)}, span{b, bench})
}
