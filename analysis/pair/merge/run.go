package merge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// Merger makes one rank of each group of a run.
type Merger struct {
	run         *rows.Run
	made        *rows.Run
	groups      []pair.Group
	members     map[uint32]*pair.Group // by leader
	places      map[rows.Place]bool    // of the run
	otherSize   int64                  // ranks of a group of the other run
	definitions *rows.Definitions
}

// New merges the groups of a run; if its ranks do not know their groups, they are one group. toOther is added to a
// step of the run to get the step of the other.
func New(run, other *rows.Run, toOther int64, definitions *rows.Definitions) *Merger {
	m := &Merger{run: run, members: map[uint32]*pair.Group{}, places: map[rows.Place]bool{}, otherSize: 1, definitions: definitions}
	m.groups = groupsOf(run)
	for i := range m.groups {
		m.members[m.groups[i].Leader] = &m.groups[i]
	}
	for _, g := range groupsOf(other) {
		m.otherSize = max(m.otherSize, int64(g.Size))
	}
	for i := range run.Steps {
		m.places[rows.Place{Rank: run.Steps[i].Rank, Step: run.Steps[i].Step}] = true
	}
	for _, at := range run.Open {
		m.places[at] = true
	}
	m.made = m.derive(other, toOther)
	return m
}

func groupsOf(run *rows.Run) []pair.Group {
	if _, known := pair.GroupSize(run); known {
		return pair.Groups(run)
	}
	return pair.WholeWorld(run)
}

// Groups are the ranks that become one, which has the number of its leader.
func (m *Merger) Groups() []pair.Group { return m.groups }

// Definitions are those of both runs.
func (m *Merger) Definitions() *rows.Definitions { return m.definitions }

// Run is the merged run. Its ranks are the groups. Its steps are all steps that any rank of a group ended, complete
// where all ranks ended them. It has the name, call stacks and requests of the original.
func (m *Merger) Run() *rows.Run { return m.made }

// Parts are the places of the run that a place of the merged run is made of, by rank.
func (m *Merger) Parts(at rows.Place) []rows.Place {
	group := m.members[at.Rank]
	if group == nil {
		return nil
	}
	var parts []rows.Place
	for _, rank := range group.Ranks {
		if part := (rows.Place{Rank: rank, Step: at.Step}); m.places[part] {
			parts = append(parts, part)
		}
	}
	return parts
}

// derive makes the facts of the merged run.
func (m *Merger) derive(other *rows.Run, toOther int64) *rows.Run {
	made := &rows.Run{Name: m.run.Name, ID: m.run.ID, Described: m.run.Described, Stacks: m.run.Stacks, MainDtype: m.run.MainDtype}
	made.Ranks = m.ranks()
	made.Steps = m.steps(contentsOf(other), toOther)
	for i := range m.run.Requests {
		if r := m.run.Requests[i]; m.members[r.Rank] != nil {
			made.Requests = append(made.Requests, r)
		}
	}
	made.Missing = m.missing(made.Steps)
	return made
}

// ranks are the leaders, each the only rank of its tensor-parallel group.
func (m *Merger) ranks() []schemas.RankRow {
	var ranks []schemas.RankRow
	for i := range m.run.Ranks {
		r := &m.run.Ranks[i]
		if m.members[r.Rank] == nil {
			continue
		}
		made := schemas.RankRow{
			RunID: m.run.ID, Rank: r.Rank, SourceName: fmt.Sprintf("group of rank %d", r.Rank),
			TP: -1, PP: r.PP, DP: r.DP, CP: r.CP, EP: r.EP, TPSize: r.TPSize, PPSize: r.PPSize, DPSize: r.DPSize, CPSize: r.CPSize, EPSize: r.EPSize,
		}
		if r.TPSize > 0 {
			made.TP, made.TPSize = 0, 1
		}
		ranks = append(ranks, made)
	}
	return ranks
}

// content distinguishes a step of a run from its state before a rank of it came later or was
// replaced.
type content struct {
	text  string
	grown uint32
}

func (c *content) add(s *schemas.StepRow) {
	c.text += fmt.Sprintf("%d %d;", s.Rank, s.Epoch)
	c.grown += s.Generation + 1
}

func contentsOf(run *rows.Run) map[int64]*content {
	contents := map[int64]*content{}
	for i := range run.Steps {
		s := &run.Steps[i]
		if contents[int64(s.Step)] == nil {
			contents[int64(s.Step)] = &content{}
		}
		contents[int64(s.Step)].add(s)
	}
	return contents
}

// steps are the steps of the groups. Their epoch and generation follow from the steps of both runs.
func (m *Merger) steps(others map[int64]*content, toOther int64) []schemas.StepRow {
	leaders := map[uint32]uint32{}
	for _, g := range m.groups {
		for _, rank := range g.Ranks {
			leaders[rank] = g.Leader
		}
	}
	parts := map[rows.Place][]*schemas.StepRow{}
	for i := range m.run.Steps { // by rank
		s := &m.run.Steps[i]
		at := rows.Place{Rank: leaders[s.Rank], Step: s.Step}
		parts[at] = append(parts[at], s)
	}
	var steps []schemas.StepRow
	for at, list := range parts {
		s := mergedStep(list, m.members[at.Rank].Size, others[int64(at.Step)+toOther])
		s.Rank = at.Rank
		steps = append(steps, s)
	}
	slices.SortFunc(steps, func(a, b schemas.StepRow) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Step, b.Step))
	})
	return steps
}

// mergedStep is the step of a group, with the program of the least rank.
func mergedStep(parts []*schemas.StepRow, size uint32, other *content) schemas.StepRow {
	s := *parts[0]
	s.Batch, s.DroppedCount, s.DropReason, s.RequestCount, s.TokenCount = 0, 0, "", nil, nil
	var own content
	var reasons []string
	for _, part := range parts {
		own.add(part)
		s.EventTimeNs = max(s.EventTimeNs, part.EventTimeNs)
		s.BeginTimeNs, s.EndTimeNs = least(s.BeginTimeNs, part.BeginTimeNs), greatest(s.EndTimeNs, part.EndTimeNs)
		s.TensorCount = max(s.TensorCount, part.TensorCount)
		s.DroppedCount += part.DroppedCount
		s.Complete = min(s.Complete, part.Complete)
		if part.DropReason != "" {
			reasons = append(reasons, part.DropReason)
		}
	}
	if len(parts) < int(size) {
		s.Complete = 0
	}
	if other != nil {
		own.text += other.text
		own.grown += other.grown
	}
	slices.Sort(reasons)
	s.DropReason = strings.Join(slices.Compact(reasons), "; ")
	s.Epoch = xxh3.HashString(fmt.Sprintf("%d %d %d %s", rules, s.Rank, s.Step, own.text))
	s.Generation = own.grown + rules<<20
	return s
}

func least(a, b *int64) *int64 {
	if a == nil || b != nil && *b < *a {
		return b
	}
	return a
}

func greatest(a, b *int64) *int64 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}
