package align

// fewOrphans is the share of the ops of both programs that may lack a parent in one of them by chance: 1 of so many.
const fewOrphans = 8

// forgetParents takes the parents from both programs if one of them ran modules and still does not know what called many
// ops, as when the file that says so is lost or cut short. What one does not know must not keep apart what both ran.
func (m *matcher) forgetParents() {
	problem, bench, common := m.orphans()
	if problem*fewOrphans > common && m.problem.ranModules() || bench*fewOrphans > common && m.bench.ranModules() {
		m.problem.forgetParents()
		m.bench.forgetParents()
	}
}

// orphans counts the ops that both programs have by name, and those of which only the other one knows the parent.
func (m *matcher) orphans() (problem, bench, common int) {
	for p, b := range m.namesakes() {
		common++
		switch knownP, knownB := m.problem.parent[p] != none, m.bench.parent[b] != none; {
		case knownB && !knownP:
			problem++
		case knownP && !knownB:
			bench++
		}
	}
	return problem, bench, common
}

// namesakes are the ops of the problem that the bench has by the same name and that have no partner yet, with that one.
func (m *matcher) namesakes() map[int32]int32 {
	named := make(map[uint64]int32, len(m.bench.ops))
	for b := range m.bench.ops {
		if m.bench.partner[b] == none && !m.bench.ops[b].Absent {
			named[m.bench.ops[b].ID] = int32(b) //nolint:gosec // an index
		}
	}
	found := map[int32]int32{}
	for p := range m.problem.ops {
		b, ok := named[m.problem.ops[p].ID]
		if ok && m.problem.partner[p] == none && !m.problem.ops[p].Absent {
			found[int32(p)] = b //nolint:gosec // an index
			delete(named, m.problem.ops[p].ID)
		}
	}
	return found
}

func (s *side) ranModules() bool {
	for i := range s.ops {
		if s.ops[i].Level == levelModule && !s.ops[i].Absent {
			return true
		}
	}
	return false
}

func (s *side) forgetParents() {
	for i := range s.parent {
		s.parent[i] = none
	}
	clear(s.parents)
	clear(s.shape)
}

// pairOrphans pairs the ops of one name that are left, if only one of the programs knows what called them.
func (m *matcher) pairOrphans() {
	for p, b := range m.namesakes() {
		if (m.problem.parent[p] == none) != (m.bench.parent[b] == none) {
			m.pair(p, b)
		}
	}
}
