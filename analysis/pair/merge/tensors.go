package merge

import (
	"slices"

	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// Beside has the tensors of the other run that stand beside those of a group's leader.
type Beside struct {
	Tensors *rows.Tensors
	Rows    []int32 // for each row of the leader's the row beside it; -1 where there is none
}

// BesideProblem is the bench's tensors beside those of a leader of the problem.
func BesideProblem(problem, bench *rows.Tensors, matches []pair.Match) Beside {
	beside := noneBeside(problem, bench)
	for _, m := range matches {
		if m.Problem >= 0 {
			beside.Rows[m.Problem] = m.Bench
		}
	}
	return beside
}

// BesideBench is the problem's tensors beside those of a leader of the bench.
func BesideBench(problem, bench *rows.Tensors, matches []pair.Match) Beside {
	beside := noneBeside(bench, problem)
	for _, m := range matches {
		if m.Bench >= 0 {
			beside.Rows[m.Bench] = m.Problem
		}
	}
	return beside
}

func noneBeside(own, other *rows.Tensors) Beside {
	return Beside{Tensors: other, Rows: slices.Repeat([]int32{none}, own.Len())}
}

// none stands for no row where an index is wanted.
const none = -1

// Merge merges the parts of a place into the tensors of the merged run, by seq, then site, and adds their new layouts
// to the definitions. The tensors beside the leader's tell how parts make a whole; besides is the zero value if there
// are none. Several places may be merged at the same time.
func (m *Merger) Merge(at rows.Place, parts map[rows.Place]*rows.Tensors, beside Beside) *rows.Tensors {
	group := m.members[at.Rank]
	if group == nil {
		return nil
	}
	table := gather(group, at.Step, parts)
	wholes := make([]whole, table.len())
	for i := range wholes {
		p := table.parts(i, m.definitions)
		p.members, p.otherSize = int64(group.Size), m.otherSize
		p.beside(beside, table.leaderRow(i), m.definitions)
		wholes[i] = p.whole()
	}
	t := m.rowsOf(wholes)
	for _, own := range table.tensors {
		t.Recorded = max(t.Recorded, own.Len())
	}
	return t
}

// rowsOf brings whole tensors in order, and names their layouts.
func (m *Merger) rowsOf(wholes []whole) *rows.Tensors {
	slices.SortStableFunc(wholes, func(a, b whole) int { return a.compare(&b) })
	t := &rows.Tensors{}
	for i := range wholes {
		w := &wholes[i]
		if l := w.wholeLayout(); l != nil {
			w.LayoutID = l.LayoutID
			m.define(l)
		}
		t.Append(&w.TensorRow)
	}
	return t
}

func (m *Merger) define(l *schemas.LayoutRow) {
	if m.definitions.Layout(l.LayoutID) == nil {
		m.definitions.AddLayout(l)
	}
}

// table has the rows of the parts, the parts of one tensor beside each other.
type table struct {
	ranks   []uint32
	leader  int // of ranks, the position of the leader; none where it has no tensors
	tensors []*rows.Tensors
	rows    [][]int32 // by rank, then tensor; -1 where a rank lacks it
}

// gather finds the rows of each tensor: the same site in the same micro step. If a rank has a site several times,
// these are several tensors: the first of one rank pairs with the first of the other.
func gather(group *pair.Group, step uint32, parts map[rows.Place]*rows.Tensors) *table {
	t := &table{leader: none}
	all := &rows.Tensors{}
	for _, rank := range group.Ranks {
		own := parts[rows.Place{Rank: rank, Step: step}]
		if own.Len() == 0 {
			continue
		}
		if rank == group.Leader {
			t.leader = len(t.ranks)
		}
		t.ranks, t.tensors = append(t.ranks, rank), append(t.tensors, own)
		t.rows = append(t.rows, join(all, own))
	}
	for i := range t.rows { // of ranks that lack tensors of later ranks
		for len(t.rows[i]) < all.Len() {
			t.rows[i] = append(t.rows[i], none)
		}
	}
	return t
}

// join finds the row of each tensor among all seen so far, and adds those that are new to them.
func join(all, own *rows.Tensors) []int32 {
	found := slices.Repeat([]int32{none}, all.Len())
	for _, m := range pair.Build(all, own, nil).Matches(all, own) {
		if m.Problem >= 0 {
			found[m.Problem] = m.Bench
			continue
		}
		found = append(found, m.Bench)
		all.SiteID = append(all.SiteID, own.SiteID[m.Bench])
		all.MicroStep = append(all.MicroStep, microStep(own, m.Bench))
	}
	return found
}

func microStep(t *rows.Tensors, row int32) uint16 {
	if t.MicroStep == nil {
		return 0
	}
	return t.MicroStep[row]
}

func (t *table) len() int {
	if len(t.rows) == 0 {
		return 0
	}
	return len(t.rows[0])
}

// leaderRow is the leader's row of a tensor.
func (t *table) leaderRow(i int) int32 {
	if t.leader == none {
		return none
	}
	return t.rows[t.leader][i]
}

// parts are the parts of a tensor, by rank.
func (t *table) parts(i int, definitions *rows.Definitions) *parts {
	p := &parts{list: make([]rows.Observation, 0, len(t.ranks)), layouts: make([]*schemas.LayoutRow, 0, len(t.ranks))}
	for rank := range t.ranks {
		if row := t.rows[rank][i]; row != none {
			part := t.tensors[rank].At(int(row))
			p.list, p.layouts = append(p.list, part), append(p.layouts, defined(definitions, part.LayoutID))
		}
	}
	return p
}

// defined is a layout; one without any content where it is not known.
func defined(definitions *rows.Definitions, id uint64) *schemas.LayoutRow {
	if l := definitions.Layout(id); l != nil {
		return l
	}
	return &schemas.LayoutRow{}
}
