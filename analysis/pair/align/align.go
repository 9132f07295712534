// Package align pairs the ops of two different programs: modules by name first, then the calls
// inside paired modules by their longest common subsequence, then the rest between paired modules
// in the same way. Where one program has lost which module called what, modules do not decide.
//
// A call index counts through a whole step, so one call more shifts the names
// of all later calls of that API. Names of calls are therefore never compared:
// the partner of a call stands in the partner of its module, in the same order.
// Of several calls of one API those are partners first that were given the same.
package align

import "slices"

// Rules is the version of the rules. It grows whenever two programs may be paired in another way than before.
const Rules uint16 = 2

// Reason says why two ops are paired, or why one stands alone.
type Reason string

// All reasons there are.
const (
	SameID      Reason = "id"       // the same op in paired modules
	Module      Reason = "module"   // a module of the same path, phase and class, in another call
	Renamed     Reason = "renamed"  // a module of the same path and phase whose class is another
	Sequence    Reason = "sequence" // the same thing called at the same place of both orders
	OnlyProblem Reason = "only_problem"
	OnlyBench   Reason = "only_bench"
)

// Op is one op of a program.
type Op struct {
	ID, ParentID uint64 // parent 0: none
	Level        string // module, api, aten, collective, optimizer or other; empty when nothing is known of the op but its id
	Prefix       string
	ModulePath   string
	ClassOrAPI   string
	CallIndex    int64 // -1 when the name has none
	Phase        string
	Signature    uint64 // hash of its arguments, apart from their values; 0 when they are not known
	Absent       bool   // named as a parent only: it holds ops together and has no row
}

const (
	levelModule   = "module"
	phaseBackward = "backward"
	phaseGradient = "gradient"
)

// none stands for no op where an index is wanted.
const none = -1

// Row is one op beside its partner; the indices are those of the lists given, -1 where there is no op.
type Row struct {
	Problem, Bench int
	Reason         Reason
}

// Programs pairs the ops of two programs, each in execution order. The rows are in an order that
// merges both: the problem's, with each op of the bench alone behind its predecessor. Each op that
// is not absent is in one row.
//
// Time and memory grow with the number of ops. Where two modules differ in up to
// five hundred calls the pairing is the longest there is; beyond, a good one.
func Programs(problem, bench []Op) []Row {
	m := newMatcher(problem, bench)
	m.pairModules()
	m.pairCalls(direct)
	if m.pairModulesBySequence() {
		m.pairCalls(direct)
	}
	m.pairCalls(nearest)
	m.pairOrphans()
	return m.rows()
}

// matcher holds the pairs so far.
type matcher struct {
	problem, bench side
	keys           interner
	exact          map[exact]uint32 // keys together with signatures, numbered from 1 on
	signed         bool             // any op has a signature
	calls          map[call]int32   // backward ops of the bench, by their calls
}

func newMatcher(problem, bench []Op) *matcher {
	m := &matcher{keys: interner{}, exact: map[exact]uint32{}}
	m.problem, m.bench = newSide(problem, m.keys), newSide(bench, m.keys)
	m.forgetParents()
	m.problem.sign(m.exact)
	m.bench.sign(m.exact)
	m.signed = signed(problem) || signed(bench)
	m.calls = m.bench.calls(func(phase string) bool { return phase == phaseBackward })
	m.problem.forward, m.bench.forward = m.problem.forwards(), m.bench.forwards()
	return m
}

func (m *matcher) pair(p, b int32) { m.problem.partner[p], m.bench.partner[b] = b, p }

// rows merges both orders.
func (m *matcher) rows() []Row {
	rows := make([]Row, 0, max(len(m.problem.ops), len(m.bench.ops)))
	next := 0 // where the bench goes on
	for p := range m.problem.ops {
		if m.problem.ops[p].Absent {
			continue
		}
		b := m.present(int32(p)) //nolint:gosec // an index
		if b == none {
			rows = append(rows, Row{Problem: p, Bench: none, Reason: OnlyProblem})
			continue
		}
		rows = m.onlyBench(rows, next)
		rows = append(rows, Row{Problem: p, Bench: b, Reason: m.reason(p, b)})
		next = b + 1
	}
	return slices.Clip(m.onlyBench(rows, next))
}

// present is the partner of an op of the problem, if it has a row of its own.
func (m *matcher) present(p int32) int {
	if b := m.problem.partner[p]; b != none && !m.bench.ops[b].Absent {
		return int(b)
	}
	return none
}

// onlyBench adds the ops of the bench from b on, up to the next one that has a partner.
func (m *matcher) onlyBench(rows []Row, b int) []Row {
	for ; b < len(m.bench.ops); b++ {
		if m.bench.ops[b].Absent {
			continue
		}
		if p := m.bench.partner[b]; p != none && !m.problem.ops[p].Absent {
			break
		}
		if m.bench.shown[b] {
			break
		}
		m.bench.shown[b] = true
		rows = append(rows, Row{Problem: none, Bench: b, Reason: OnlyBench})
	}
	return rows
}

func (m *matcher) reason(p, b int) Reason {
	a, c := &m.problem.ops[p], &m.bench.ops[b]
	named := a.Level == levelModule && c.Level == levelModule && a.ModulePath == c.ModulePath
	switch {
	case a.ID == c.ID && m.samePlace(p, b):
		return SameID
	case named && a.ClassOrAPI == c.ClassOrAPI:
		return Module
	case named:
		return Renamed
	}
	return Sequence
}

// samePlace says whether the parents are a pair, or neither has one.
func (m *matcher) samePlace(p, b int) bool {
	above := m.problem.parent[p]
	if above == none {
		return m.bench.parent[b] == none
	}
	return m.problem.partner[above] != none && m.problem.partner[above] == m.bench.parent[b]
}
